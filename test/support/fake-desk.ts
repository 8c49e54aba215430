import type { IncomingMessage, ServerResponse } from 'node:http'
import { type AcceptLog, openAcceptLog } from './accept-log.ts'
import { EVERYTHING_OK, type FakePlan } from './answer-plan.ts'
import { answerJson, readBody } from './fake-http.ts'

export type FakeStats = { requests: number; accepted: number; concurrent: number; maxConcurrent: number }
export type FakeControl = Partial<FakePlan> & { reset?: boolean }

/** What the fakes of HTTP providers share: the plan, the counters, the log of what was accepted, and their control. */
export class FakeDesk<Line extends object> {
  plan: FakePlan = structuredClone(EVERYTHING_OK)
  readonly accepted: Line[] = []
  readonly stats: FakeStats = { requests: 0, accepted: 0, concurrent: 0, maxConcurrent: 0 }
  readonly #log: AcceptLog | null
  #lines = 0

  constructor(logFile: string | undefined) {
    this.#log = logFile ? openAcceptLog(logFile) : null
  }

  control({ reset, ...change }: FakeControl): void {
    if (reset) this.#reset()
    Object.assign(this.plan, structuredClone(change))
  }

  /** Returns when the acceptance would survive the fake's own death. */
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
    Object.assign(this.stats, { requests: 0, accepted: 0, maxConcurrent: this.stats.concurrent })
  }
}
