import { z } from 'zod'
import type { EmailEventView } from '../email-view.ts'

const ENDS = [
  'sent',
  'retry',
  'throttled',
  'unconnected',
  'parked',
  'rejected',
  'failed',
  'unknown',
  'uncalled',
  'running',
] as const
type AttemptEnd = (typeof ENDS)[number]

/** One call of a provider, and what it answered. */
export const attemptSchema = z.object({
  number: z.int().describe('Of the sends: a repeated call has the number of the send that it repeats'),
  asksAgain: z
    .boolean()
    .describe('The same attempt under the same key: it asked what became of a send whose outcome was unknown'),
  provider: z.string(),
  attemptId: z.string().nullable(),
  startedAt: z.iso.datetime(),
  endedAt: z.iso.datetime().nullable(),
  durationMs: z.number().nullable(),
  end: z.enum(ENDS),
  code: z.string().nullable().describe("The gateway's own code"),
  providerCode: z.string().nullable().describe("The provider's own code"),
  message: z.string().nullable().describe("The provider's answer, or the message id"),
  retryInMs: z.number().nullable(),
})
export type AttemptView = z.output<typeof attemptSchema>

const END_EVENTS = ['SENT', 'RETRY_SCHEDULED', 'REJECTED', 'FAILED', 'UNKNOWN']

/** The attempts in the log of an e-mail: each begins with SENT_ATTEMPT and ends with the next event that says how. */
export function attemptsOf(events: readonly EmailEventView[]): AttemptView[] {
  /** Numbers of the sends by their attempt id, which only a repeated call has in common with an earlier one. */
  const numbers = new Map<string, number>()
  let sends = 0
  return events.flatMap((event, index) => {
    if (event.type !== 'SENT_ATTEMPT') return []
    const rest = events.slice(index + 1)
    const next = rest.findIndex(one => one.type === 'SENT_ATTEMPT')
    const attemptId = textOf(event.metadata.attemptId)
    const asked = attemptId === null ? undefined : numbers.get(attemptId)
    const number = asked ?? ++sends
    if (attemptId !== null) numbers.set(attemptId, number)
    return [{ number, asksAgain: asked !== undefined, ...toAttempt(event, next === -1 ? rest : rest.slice(0, next)) }]
  })
}

function toAttempt(start: EmailEventView, after: readonly EmailEventView[]): Omit<AttemptView, 'number' | 'asksAgain'> {
  const end = after.find(one => END_EVENTS.includes(one.type))
  const uncalled = after.some(one => one.type === 'RESOLVED' && one.metadata.by === 'not-called')
  const facts = end?.metadata ?? {}
  return {
    provider: textOf(start.metadata.provider) ?? '',
    attemptId: textOf(start.metadata.attemptId),
    startedAt: start.createdAt,
    endedAt: end?.createdAt ?? null,
    durationMs: numberOf(facts.durationMs),
    end: uncalled ? 'uncalled' : endOf(end),
    code: textOf(facts.errorCode),
    providerCode: textOf(facts.providerCode),
    message: textOf(facts.errorMessage) ?? textOf(facts.messageId) ?? textOf(facts.reason),
    retryInMs: numberOf(facts.backoffDelay),
  }
}

function endOf(end: EmailEventView | undefined): AttemptEnd {
  switch (end?.type) {
    case undefined:
      return 'running'
    case 'SENT':
      return 'sent'
    case 'REJECTED':
      return 'rejected'
    case 'UNKNOWN':
      return 'unknown'
    case 'RETRY_SCHEDULED':
      return (['throttled', 'unconnected', 'parked'] as const).find(name => end.metadata[name] === true) ?? 'retry'
    default:
      return 'failed'
  }
}

const textOf = (value: unknown) => (typeof value === 'string' && value !== '' ? value : null)
const numberOf = (value: unknown) => (typeof value === 'number' && Number.isFinite(value) ? value : null)
