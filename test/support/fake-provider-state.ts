import type { IncomingMessage, ServerResponse } from 'node:http'
import { type AcceptLog, openAcceptLog } from './accept-log.ts'
import { EVERYTHING_OK, type FakePlan } from './answer-plan.ts'
import { answerJson, readBody } from './fake-http.ts'

export type FakeStats = { requests: number; accepted: number; concurrent: number; maxConcurrent: number }
export type FakeControl = Partial<FakePlan> & { reset?: boolean; limit?: FakeLimit | null }
/** So many requests in each second by the fake's own clock. */
export type FakeLimit = { perSecond: number; headers?: boolean }

/** What the fakes of HTTP providers share: the plan, the counters, the log of what was accepted, and their control. */
export class FakeProviderState<Line extends object> {
  plan: FakePlan = structuredClone(EVERYTHING_OK)
  readonly accepted: Line[] = []
  readonly stats: FakeStats = { requests: 0, accepted: 0, concurrent: 0, maxConcurrent: 0 }
  readonly #log: AcceptLog | null
  #lines = 0
  #limit: FakeLimit | null = null
  #window = { second: 0, requests: 0 }
  throttled = 0

  constructor(logFile: string | undefined) {
    this.#log = logFile ? openAcceptLog(logFile) : null
  }

  control({ reset, limit, ...change }: FakeControl): void {
    if (reset) this.#reset()
    if (limit !== undefined) this.#limit = limit
    Object.assign(this.plan, structuredClone(change))
  }

  /** The headers of a refusal when this request is above the limit. */
  overLimit(): Record<string, string> | null {
    if (!this.#limit) return null
    const second = Math.floor(Date.now() / 1000)
    if (this.#window.second !== second) this.#window = { second, requests: 0 }
    if (++this.#window.requests <= this.#limit.perSecond) return null
    this.throttled++
    const { headers, perSecond } = this.#limit
    return headers ? { 'retry-after': '1', 'ratelimit-limit': String(perSecond) } : {}
  }

  /** Returns when the acceptance would survive a kill of the fake. */
  async accept(line: Line): Promise<void> {
    const numbered = { seq: ++this.#lines, at: new Date().toISOString(), ...line }
    this.accepted.push(numbered)
    this.stats.accepted++
    await this.#log?.append(numbered)
  }

  arrived(response: ServerResponse): void {
    const { stats } = this
    stats.requests++
    stats.maxConcurrent = Math.max(stats.maxConcurrent, ++stats.concurrent)
    // Answered, or given up by the client.
    response.once('close', () => stats.concurrent--)
  }

  /** False when the request is not for the control. */
  async answerControl(request: IncomingMessage, response: ServerResponse, more: (body: object) => void) {
    const route = `${request.method} ${request.url}`
    if (route === 'PUT /control') {
      const body = JSON.parse(await readBody(request))
      more(body)
      answerJson(response, 200, {})
    } else if (route === 'GET /control/log') answerJson(response, 200, this.accepted)
    else if (route === 'GET /control/stats') answerJson(response, 200, this.stats)
    else return false
    return true
  }

  async close(): Promise<void> {
    await this.#log?.close()
  }

  #reset(): void {
    this.plan = structuredClone(EVERYTHING_OK)
    this.accepted.length = 0
    this.#limit = null
    this.throttled = 0
    Object.assign(this.stats, { requests: 0, accepted: 0, maxConcurrent: this.stats.concurrent })
  }
}
