import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { parseRetryAfter, type WebhookAnswer } from '../contracts/webhooks/schedule.ts'
import { memoize } from '../runtime/memoize.ts'
import { ForbiddenAddress, hostOf, type ResolveName, refuseWebhookUrl, resolveChecked } from './address-check.ts'

/** From the look-up of the name to the last byte of the answer. */
const TIMEOUT_MS = 10_000
/** Shorter than most servers keep an idle connection. */
const IDLE_MS = 4_000
/** To one host, which may be that of many companies: as many as may be in flight, or those above are opened anew each time. */
const KEPT_CONNECTIONS = 512
const REMEMBERED_URLS = 5_000
const MAX_ANSWER_BYTES = 64 * 1024
const KEPT_ANSWER_BYTES = 1024
/** 100, 102 and 103 may come before the answer; a receiver that sends nothing else keeps us busy. */
const MAX_INTERIM_ANSWERS = 10

export type PosterOptions = {
  resolve: ResolveName
  allowPrivate: boolean
  timeoutMs?: number
  /** Certificates to trust beside the usual ones. */
  ca?: string
}

export type Posted = WebhookAnswer & { answer: string; durationMs: number }
type Answered = Omit<Posted, 'durationMs'>
export type Post = (url: string, headers: Record<string, string>, body: string) => Promise<Posted>

type AllowedTarget = { refused: null; start: typeof httpRequest; options: RequestOptions; hostHeader: string }
type Target = AllowedTarget | { refused: string }
type Deadline = { over: boolean; onOver: () => void }

/** Posts to addresses that strangers chose: no redirects, no proxies, a checked address, and a limit on everything. */
export function makePoster({ resolve, allowPrivate, timeoutMs = TIMEOUT_MS, ca }: PosterOptions) {
  const keepAlive = { keepAlive: true, timeout: IDLE_MS, maxFreeSockets: KEPT_CONNECTIONS }
  const agents = { http: new HttpAgent(keepAlive), https: new HttpsAgent({ ...keepAlive, ...(ca && { ca }) }) }
  // Asked once per connection, and what it answers is what the socket connects to.
  const lookup: LookupFunction = (hostname, options, callback) => {
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

  const targetOf = memoize(REMEMBERED_URLS, (text: string): Target => {
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
  })

  const post: Post = async (text, headers, body) => {
    const startedMs = performance.now()
    const took = () => Math.round(performance.now() - startedMs)
    const target = targetOf(text)
    if (target.refused !== null) return { ...noAnswer(`FORBIDDEN_URL: it ${target.refused}`), durationMs: took() }
    const deadline: Deadline = { over: false, onOver: () => {} }
    // Not AbortSignal.timeout, which costs ten times as much, and there is one for every request.
    const timer = setTimeout(() => {
      deadline.over = true
      deadline.onOver()
    }, timeoutMs)
    let outcome = await attempt(target, headers, body, deadline)
    // The receiver closed an idle connection just as we used it: nothing was read of ours.
    if (outcome === 'stale') outcome = await attempt(target, headers, body, deadline)
    clearTimeout(timer)
    return { ...(outcome === 'stale' ? noAnswer('ECONNRESET') : outcome), durationMs: took() }
  }

  function attempt(
    { start, options, hostHeader }: AllowedTarget,
    headers: Record<string, string>,
    body: string,
    deadline: Deadline,
  ) {
    return new Promise<Answered | 'stale'>(done => {
      const length = Buffer.byteLength(body)
      const request = start({ ...options, headers: { ...headers, host: hostHeader, 'content-length': length } })
      const reading = new AnswerReader()
      // Whatever comes first decides; what comes after it changes nothing.
      const giveUp = (error: string) => {
        done(reading.answered(error))
        request.destroy()
      }
      deadline.onOver = () => giveUp('TIMEOUT')
      request.on('response', response => {
        reading.start(response)
        // Without an Upgrade header a 101 is an answer like any other, and one of no meaning.
        if (response.statusCode === 101) return giveUp('UPGRADE_NOT_SUPPORTED')
        response.on('data', (chunk: Buffer) => {
          if (reading.add(chunk)) return
          // Its status has decided; the rest is not read, and the connection is of no more use.
          done(reading.answered(null))
          request.destroy()
        })
        response.on('end', () => done(reading.answered(null)))
        response.on('error', (error: NodeJS.ErrnoException) => giveUp(errorText(error)))
      })
      request.on('upgrade', (response, socket) => {
        socket.destroy()
        reading.start(response)
        giveUp('UPGRADE_NOT_SUPPORTED')
      })
      let interim = 0
      request.on('information', () => {
        if (++interim > MAX_INTERIM_ANSWERS) giveUp('TOO_MANY_INTERIM_ANSWERS')
      })
      request.on('error', (error: NodeJS.ErrnoException) => {
        const stale = request.reusedSocket && !deadline.over && ['ECONNRESET', 'EPIPE'].includes(error.code ?? '')
        done(stale ? 'stale' : reading.answered(errorText(error)))
      })
      // Comes after all of the above; of use when none of them came.
      request.on('close', () => done(reading.answered('ECONNRESET')))
      if (deadline.over) deadline.onOver()
      request.end(body)
    })
  }

  const close = () => {
    agents.http.destroy()
    agents.https.destroy()
  }
  return { post, close }
}

/** What was read of an answer so far, and of it the little that is kept. */
class AnswerReader {
  readonly #kept: Buffer[] = []
  #bytes = 0
  #response: Pick<IncomingMessage, 'statusCode' | 'headers'> | null = null

  start(response: IncomingMessage): void {
    this.#response = response
  }

  /** False when enough was read. */
  add(chunk: Buffer): boolean {
    if (this.#bytes < KEPT_ANSWER_BYTES) this.#kept.push(chunk)
    this.#bytes += chunk.length
    return this.#bytes < MAX_ANSWER_BYTES
  }

  answered(error: string | null): Answered {
    return {
      status: this.#response?.statusCode ?? null,
      error,
      retryAfterMs: parseRetryAfter(this.#response?.headers['retry-after'], new Date()),
      answer: Buffer.concat(this.#kept).subarray(0, KEPT_ANSWER_BYTES).toString(),
    }
  }
}

const noAnswer = (error: string): Answered => ({ status: null, error, retryAfterMs: null, answer: '' })

function errorText(error: NodeJS.ErrnoException): string {
  if (error instanceof ForbiddenAddress) return `${error.code}: ${error.message}`
  return error.code ?? error.message.slice(0, 200)
}
