import { parentPort } from 'node:worker_threads'
import { checkHtml, type HtmlAllowances } from '../contracts/html/rules.ts'
import { textFromHtml } from '../contracts/html/to-text.ts'

type Question = { id: number; html: string; allowances: HtmlAllowances; task: 'problems' | 'text' }

parentPort?.on('message', ({ id, html, allowances, task }: Question) => {
  parentPort?.postMessage(
    task === 'text' ? { id, text: textFromHtml(html) } : { id, problems: checkHtml(html, allowances) },
  )
})
