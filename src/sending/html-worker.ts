import { parentPort } from 'node:worker_threads'
import { checkHtml, type HtmlAllowances } from '../contracts/html/rules.ts'
import { textFromHtml } from '../contracts/html/to-text.ts'
import type { FromThread } from './html-check.ts'

type Question = { id: number; html: string; allowances: HtmlAllowances; task: 'problems' | 'text' }

parentPort?.on('message', ({ id, html, allowances, task }: Question) => {
  say(task === 'text' ? { id, text: textFromHtml(html) } : { id, problems: checkHtml(html, allowances) })
})
// Everything is loaded: from now on an answer takes as long as its HTML does.
say({ started: true })

function say(message: FromThread): void {
  parentPort?.postMessage(message)
}
