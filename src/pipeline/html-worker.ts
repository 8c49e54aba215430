import { parentPort } from 'node:worker_threads'
import { checkHtml } from '../contracts/html-rules.ts'
import { textFromHtml } from '../contracts/text-from-html.ts'

type Question = { id: number; html: string; task: 'problems' | 'text' }

parentPort?.on('message', ({ id, html, task }: Question) => {
  parentPort?.postMessage(task === 'text' ? { id, text: textFromHtml(html) } : { id, problems: checkHtml(html) })
})
