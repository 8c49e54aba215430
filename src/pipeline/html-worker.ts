import { parentPort } from 'node:worker_threads'
import { checkHtml } from '../contracts/html-rules.ts'

parentPort?.on('message', ({ id, html }: { id: number; html: string }) => {
  parentPort?.postMessage({ id, problems: checkHtml(html) })
})
