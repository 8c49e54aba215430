import type { Queryable } from '../../src/platform/postgres/query.ts'
import { uuidv7 } from '../../src/platform/text/uuid.ts'
import { classifyProviderError, type ProviderError } from '../../src/providers/errors/classify.ts'
import type { OutgoingMessage, Provider, SendResult } from '../../src/providers/provider.ts'

export type Scripted = Provider & { calls: OutgoingMessage[] }
export type ScriptedAnswer = SendResult | ((message: OutgoingMessage) => Promise<SendResult>)

/** A provider that answers as written down, one answer for each call; the last one for all that follow. */
export function scripted(name: string, recognisesAttempts: boolean, ...answers: ScriptedAnswer[]): Scripted {
  const calls: OutgoingMessage[] = []
  return {
    name,
    recognisesAttempts,
    calls,
    async send(message) {
      const answer = answers[Math.min(calls.length, answers.length - 1)]!
      calls.push(message)
      return typeof answer === 'function' ? answer(message) : answer
    },
    close: async () => {},
  }
}

export const taken = (): SendResult => ({ kind: 'sent', messageId: `m-${uuidv7()}`, events: [] })
export const failed = (error: Omit<ProviderError, 'provider'>): SendResult => ({
  kind: 'failed',
  failure: classifyProviderError({ provider: 'resend', ...error }),
})
/** The connection was lost after the request had left. */
export const lost = (): SendResult => failed({ networkCode: 'ECONNRESET', message: 'read ECONNRESET' })
export const timedOut = (): SendResult => failed({ name: 'TimeoutError', message: 'no answer in time' })
export const refused = (): SendResult =>
  failed({ name: 'validation_error', statusCode: 422, message: 'no such domain' })
export const throttled = (): SendResult => failed({ name: 'rate_limit_exceeded', statusCode: 429 })
export const unavailable = (): SendResult => failed({ name: 'application_error', statusCode: 500 })
export const overQuota = (): SendResult => failed({ name: 'daily_quota_exceeded', statusCode: 429 })
export const notConnected = (): SendResult => failed({ networkCode: 'ECONNREFUSED', message: 'connect ECONNREFUSED' })

/** The time that evidence was waited for is over. */
export async function graceOver(db: Queryable): Promise<void> {
  await db.query(`update unknown_sends set resolve_at = now() - interval '1 second'`)
}

export async function unknownSends(db: Queryable): Promise<{ outbox_id: string; reason: string; seconds: number }[]> {
  const { rows } = await db.query(
    `select outbox_id, reason, round(extract(epoch from resolve_at - now()))::int as seconds from unknown_sends order by outbox_id`,
  )
  return rows
}

/** But for the reports themselves. */
export async function counted(db: Queryable): Promise<Record<string, number>> {
  const { rows } = await db.query(
    `select name || ' ' || label as what, value::int as value from counters where name not like 'provider_events%'`,
  )
  return Object.fromEntries(rows.map(row => [row.what, row.value]))
}
