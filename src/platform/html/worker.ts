import { parentPort, workerData } from 'node:worker_threads'
import type { FromThread } from './check.ts'
import { checkHtml } from './rules.ts'
import { textFromHtml } from './to-text.ts'

type Question = { id: number; html: string; task: 'problems' | 'text' }

const { linkSchemes } = workerData as { linkSchemes: readonly string[] }

parentPort?.on('message', ({ id, html, task }: Question) => {
  say(task === 'text' ? { id, text: textFromHtml(html) } : { id, problems: checkHtml(html, linkSchemes) })
})
// Everything is loaded: from now on an answer takes as long as its HTML does.
say({ started: true })

function say(message: FromThread): void {
  parentPort?.postMessage(message)
}
