import { hash } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import { TurnQueue } from '../semaphores.ts'
import { countTags } from './parse.ts'
import { checkHtml, type HtmlProblem } from './rules.ts'
import { textFromHtml } from './to-text.ts'

/**
 * HTML within both limits is parsed on the event loop. The node limit follows from the tags, so the worst of it takes a few
 * milliseconds; an ordinary e-mail takes less than one.
 */
const INLINE_CHARS = 8 * 1024
const INLINE_TAGS = 256
const DEADLINE_MS = 2_000
/** A thread that has not started by then is given up. On a starved machine its start takes longer than any parsing. */
const START_MS = 30_000
/** Per company. 512 KB take some 40 ms, so the last one waits for a few seconds. */
const MAX_WAITING = 64

const TOO_SLOW: HtmlProblem = { code: 'HTML_TOO_COMPLEX', message: 'takes too long to parse; simplify its structure' }

/** The thread's answer: the part that was asked for. */
type Answer = { problems?: HtmlProblem[]; text?: string }
export type FromThread = { started: true } | (Answer & { id: number })
const GIVEN_UP: Answer = { problems: [TOO_SLOW], text: '' }

type Job = {
  id: number
  html: string
  task: keyof Answer
  resolve: (answer: Answer) => void
  deadline?: NodeJS.Timeout
}

/** Applies the HTML rules and makes text from HTML: small bodies at once, large ones in a worker thread, one at a time, companies in turn. */
export class HtmlChecker {
  #worker: Worker | null = null
  /** The thread has started, so that its answer depends on the HTML alone. */
  #started = false
  #running: Job | null = null
  readonly #waiting = new TurnQueue<Job>()
  #lastId = 0
  readonly #proofKey: string
  readonly #linkSchemes: readonly string[]
  readonly #startThread: (linkSchemes: readonly string[]) => Worker

  /** `linkSchemes`: of the setting LINK_SCHEMES. */
  constructor(proofKey: string, linkSchemes: readonly string[] = [], startThread = startHtmlThread) {
    this.#proofKey = proofKey
    this.#linkSchemes = linkSchemes
    this.#startThread = startThread
  }

  /** A keyed hash of HTML that has passed the rules. */
  proofOf(html: string): string {
    return htmlProof(html, this.#proofKey)
  }

  /** Whether this HTML passed these rules when it was accepted, and has not changed since. */
  hasValidProof(html: string, proof: string | null): boolean {
    return proof !== null && proof === this.proofOf(html)
  }

  async check(html: string, companyId: string): Promise<HtmlProblem[]> {
    if (!this.takesTime(html)) return checkHtml(html, this.#linkSchemes)
    return (await this.#ask('problems', html, companyId)).problems!
  }

  /** Whether the HTML is too large, or has too many tags, to be parsed on the event loop. */
  takesTime(html: string): boolean {
    return html.length > INLINE_CHARS || countTags(html, INLINE_TAGS + 1) > INLINE_TAGS
  }

  /** Whether new requests of this company must wait. E-mails that were accepted are checked all the same. */
  isFull(companyId: string): boolean {
    return this.#waiting.waiting(companyId) >= MAX_WAITING
  }

  async textOf(html: string, companyId: string): Promise<string> {
    return this.takesTime(html) ? (await this.#ask('text', html, companyId)).text! : textFromHtml(html)
  }

  async close(): Promise<void> {
    const worker = this.#worker
    this.#worker = null
    await worker?.terminate()
  }

  #ask(task: Job['task'], html: string, companyId: string): Promise<Answer> {
    return new Promise(resolve => {
      this.#waiting.push(companyId, { id: ++this.#lastId, html, task, resolve })
      this.#next()
    })
  }

  #next(): void {
    if (this.#running) return
    const job = this.#waiting.shift()
    if (!job) return
    this.#running = job
    this.#thread().postMessage({ id: job.id, html: job.html, task: job.task })
    this.#expectAnswer(job)
  }

  #expectAnswer(job: Job): void {
    clearTimeout(job.deadline)
    job.deadline = setTimeout(() => this.#giveUp(job), this.#started ? DEADLINE_MS : START_MS)
  }

  #threadStarted(worker: Worker): void {
    if (this.#worker !== worker) return
    this.#started = true
    if (this.#running) this.#expectAnswer(this.#running)
  }

  #finish(id: number, answer: Answer): void {
    const job = this.#running
    if (job?.id !== id) return
    clearTimeout(job.deadline)
    this.#running = null
    job.resolve(answer)
    this.#next()
  }

  #lost(worker: Worker): void {
    if (this.#worker !== worker) return
    this.#worker = null
    if (this.#running) this.#giveUp(this.#running)
  }

  /** A thread that hangs or died is replaced. The content that did it is refused; if only its text was wanted, it has none. */
  #giveUp(job: Job): void {
    void this.#worker?.terminate()
    this.#worker = null
    this.#finish(job.id, GIVEN_UP)
  }

  #thread(): Worker {
    if (this.#worker) return this.#worker
    const worker = this.#startThread(this.#linkSchemes)
    this.#started = false
    worker.unref()
    worker.on('message', (message: FromThread) => {
      if ('started' in message) this.#threadStarted(worker)
      else this.#finish(message.id, message)
    })
    // An error is followed by an exit; whichever comes first counts.
    for (const end of ['error', 'exit'] as const) worker.on(end, () => this.#lost(worker))
    this.#worker = worker
    return worker
  }
}

function startHtmlThread(linkSchemes: readonly string[]): Worker {
  const options = { workerData: { linkSchemes }, resourceLimits: { maxOldGenerationSizeMb: 512 } }
  if (import.meta.url.endsWith('.js')) return new Worker(new URL('./worker.js', import.meta.url), options)
  // Tests run the source, for which Node needs a loader.
  const file = new URL('./worker.ts', import.meta.url)
  const code = `import('tsx/esm/api').then(({ register }) => { register(); return import('${file}') })`
  return new Worker(code, { ...options, eval: true })
}

/**
 * Raise it when a change of the rules can change a result (check-proof.test.ts notices every change of the files): HTML that was
 * checked by an older version is then checked again.
 */
export const HTML_RULES_VERSION = 4

/**
 * Proves that this HTML has passed the rules of this version, so that it need not be parsed again. A key prefix is enough because
 * SHA-512/256 is not open to length extension, and it costs a third of an HMAC.
 */
export function htmlProof(html: string, key: string): string {
  return hash('sha512-256', `${key.length} ${key} html-rules ${HTML_RULES_VERSION}\n${html}`, 'base64url')
}
