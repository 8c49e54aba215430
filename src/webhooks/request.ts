import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { parseRetryAfter, type WebhookAnswer } from '../contracts/webhooks/schedule.ts'
import { memoize } from '../runtime/memoize.ts'
import { ForbiddenAddress, hostOf, type ResolveName, refuseWebhookUrl, resolveChecked } from './address-check.ts'

/** From the DNS look-up to the last byte of the response. */
const TIMEOUT_MS = 10_000
/** Shorter than the keep-alive timeout of most servers. */
const IDLE_MS = 4_000
/** Per host. As many as may be in flight, because many companies may use one host and connections above this are not reused. */
const MAX_IDLE_CONNECTIONS = 512
const CACHED_URLS = 5_000
const MAX_ANSWER_BYTES = 64 * 1024
const STORED_ANSWER_BYTES = 1024
/** 100, 102 and 103 may precede the response; a receiver could send them without end. */
const MAX_INTERIM_ANSWERS = 10

export type PosterOptions = {
  resolve: ResolveName
  allowPrivate: boolean
  timeoutMs?: number
}

export type Posted = WebhookAnswer & { answer: string; durationMs: number }
type Answered = Omit<Posted, 'durationMs'>
export type Post = (url: string, headers: Record<string, string>, body: string) => Promise<Posted>

type AllowedTarget = { refused: null; start: typeof httpRequest; options: RequestOptions; hostHeader: string }
type Target = AllowedTarget | { refused: string }
type Deadline = { over: boolean; onOver: () => void }
type Connecting = { agents: { http: HttpAgent; https: HttpsAgent }; lookup: LookupFunction; allowPrivate: boolean }

/** For URLs chosen by customers: follows no redirects, uses no proxy, checks every address, and limits time and size. */
export function makePoster({ resolve, allowPrivate, timeoutMs = TIMEOUT_MS }: PosterOptions) {
  const keepAlive = { keepAlive: true, timeout: IDLE_MS, maxFreeSockets: MAX_IDLE_CONNECTIONS }
  const agents = { http: new HttpAgent(keepAlive), https: new HttpsAgent(keepAlive) }
  const connecting = { agents, lookup: checkedLookup(resolve, allowPrivate), allowPrivate }
  const targetOf = memoize(CACHED_URLS, (url: string) => readTarget(url, connecting))

  const post: Post = async (url, headers, body) => {
    const startedMs = performance.now()
    const elapsedMs = () => Math.round(performance.now() - startedMs)
    const target = targetOf(url)
    if (target.refused !== null) return { ...noAnswer(`FORBIDDEN_URL: it ${target.refused}`), durationMs: elapsedMs() }
    const deadline: Deadline = { over: false, onOver: () => {} }
    // Not AbortSignal.timeout, which costs ten times as much per request.
    const timer = setTimeout(() => {
      deadline.over = true
      deadline.onOver()
    }, timeoutMs)
    let outcome = await sendRequest(target, headers, body, deadline)
    // The receiver closed the idle connection before it read our request, so a repeat is safe.
    if (outcome === 'stale') outcome = await sendRequest(target, headers, body, deadline)
    clearTimeout(timer)
    return { ...(outcome === 'stale' ? noAnswer('ECONNRESET') : outcome), durationMs: elapsedMs() }
  }

  const close = () => {
    agents.http.destroy()
    agents.https.destroy()
  }
  return { post, close }
}

/** Called once per connection; the socket connects to the addresses that it returns. */
function checkedLookup(resolve: ResolveName, allowPrivate: boolean): LookupFunction {
  return (hostname, options, callback) => {
    resolveChecked(hostname, resolve, allowPrivate).then(
      found => {
        const wanted = options.family === 4 || options.family === 6 ? options.family : null
        const usable = wanted ? found.filter(one => one.family === wanted) : found
        if (options.all) callback(null, usable)
        else callback(null, usable[0]?.address ?? '', usable[0]?.family)
      },
      error => callback(error, []),
    )
  }
}

function readTarget(text: string, { agents, lookup, allowPrivate }: Connecting): Target {
  const refused = refuseWebhookUrl(text, allowPrivate)
  if (refused) return { refused }
  const url = new URL(text)
  const host = hostOf(url)
  const secure = url.protocol === 'https:'
  const options = {
    method: 'POST',
    host,
    port: url.port || (secure ? 443 : 80),
    path: `${url.pathname}${url.search}`,
    agent: secure ? agents.https : agents.http,
    lookup,
    ...(secure && isIP(host) === 0 && { servername: host }),
  }
  return { refused: null, start: secure ? httpsRequest : httpRequest, options, hostHeader: url.host }
}

function sendRequest(
  { start, options, hostHeader }: AllowedTarget,
  headers: Record<string, string>,
  body: string,
  deadline: Deadline,
): Promise<Answered | 'stale'> {
  return new Promise(done => {
    const length = Buffer.byteLength(body)
    const request = start({ ...options, headers: { ...headers, host: hostHeader, 'content-length': length } })
    const answer = new AnswerReader()
    // The first call of done() decides.
    const giveUp = (error: string) => {
      done(answer.result(error))
      request.destroy()
    }
    deadline.onOver = () => giveUp('TIMEOUT')
    request.on('response', response => {
      answer.start(response)
      // Without an Upgrade header Node emits a 101 as an ordinary response.
      if (response.statusCode === 101) return giveUp('UPGRADE_NOT_SUPPORTED')
      response.on('data', (chunk: Buffer) => {
        if (answer.add(chunk)) return
        // The status is known, so the rest is not read; that makes the connection unusable.
        done(answer.result(null))
        request.destroy()
      })
      response.on('end', () => done(answer.result(null)))
      response.on('error', (error: NodeJS.ErrnoException) => giveUp(errorText(error)))
    })
    request.on('upgrade', (response, socket) => {
      socket.destroy()
      answer.start(response)
      giveUp('UPGRADE_NOT_SUPPORTED')
    })
    let interim = 0
    request.on('information', () => {
      if (++interim > MAX_INTERIM_ANSWERS) giveUp('TOO_MANY_INTERIM_ANSWERS')
    })
    request.on('error', (error: NodeJS.ErrnoException) => {
      const stale = request.reusedSocket && !deadline.over && ['ECONNRESET', 'EPIPE'].includes(error.code ?? '')
      done(stale ? 'stale' : answer.result(errorText(error)))
    })
    // 'close' is always the last event; this matters only if none of the others came.
    request.on('close', () => done(answer.result('ECONNRESET')))
    if (deadline.over) deadline.onOver()
    request.end(body)
  })
}

/** Collects status, headers and the beginning of a response. */
class AnswerReader {
  readonly #stored: Buffer[] = []
  #bytes = 0
  #response: Pick<IncomingMessage, 'statusCode' | 'headers'> | null = null

  start(response: IncomingMessage): void {
    this.#response = response
  }

  /** Returns false when the size limit is reached. */
  add(chunk: Buffer): boolean {
    if (this.#bytes < STORED_ANSWER_BYTES) this.#stored.push(chunk)
    this.#bytes += chunk.length
    return this.#bytes < MAX_ANSWER_BYTES
  }

  result(error: string | null): Answered {
    return {
      status: this.#response?.statusCode ?? null,
      error,
      retryAfterMs: parseRetryAfter(this.#response?.headers['retry-after'], new Date()),
      answer: Buffer.concat(this.#stored).subarray(0, STORED_ANSWER_BYTES).toString(),
    }
  }
}

const noAnswer = (error: string): Answered => ({ status: null, error, retryAfterMs: null, answer: '' })

function errorText(error: NodeJS.ErrnoException): string {
  if (error instanceof ForbiddenAddress) return `${error.code}: ${error.message}`
  return error.code ?? error.message.slice(0, 200)
}
