import type { Explanation, NextStep } from './email-view.ts'

/** How many e-mails of its company go before it, and how many companies share the capacity. */
export type QueuePosition = {
  ahead: number
  companies: number
  paused: boolean
  pauseReason: string | null
}

type ParkedProvider = { provider: string; since: string; code: string; reason: string; probeAt: string }

/** Facts from other tables than the e-mail's own row. Null: does not apply. */
export type EmailLocation = {
  queuePosition: QueuePosition | null
  /** work: a worker has claimed it. dispatch: it is in the BullMQ queue. silent: that worker has sent no heartbeat for 15 seconds. */
  inFlight: { kind: 'work' | 'dispatch'; holder: string; expired: boolean; silent: boolean } | null
  unknown: { reason: string; provider: string; since: string; resolveAt: string; onUnknown: 'resend' | 'hold' } | null
  /** Every provider in use is parked. */
  parked: ParkedProvider[] | null
  contentGone: boolean
  workersAlive: boolean
  /** The workers get their mail through Redis. */
  throughRedis: boolean
  /** Whether anything will be reported about it: SMTP and capture report nothing, SES and Resend only if that is set up. */
  eventsExpected: boolean
  /** An attempt of unknown outcome was followed by another one. */
  sentAgain: boolean
  /** Recipients that bounced or were refused, of so many. The status of the e-mail is that of its `to`. */
  recipients: { bounced: number; of: number }
}

/** `; 2 of its 4 recipients bounced`, where the status does not say it. */
export function othersBounced({ recipients: { bounced, of } }: EmailLocation): string {
  return bounced > 0 && bounced < of ? `; ${bounced} of its ${of} recipients bounced` : ''
}

export type StatusText = Pick<Explanation, 'summary' | 'next' | 'nextStep' | 'nextAt'>

export type Next = { step: NextStep; text: string; at?: string }

export const statusText = (summary: string, next: Next | null): StatusText => ({
  summary,
  next: next?.text ?? null,
  nextStep: next?.step ?? null,
  nextAt: next?.at ?? null,
})

export const at = (time: string | null) => (time ? ` at ${time}` : '')

/** Why nobody works on what is claimed; null: somebody does. */
export function whyLost({ inFlight, workersAlive }: EmailLocation): string | null {
  if (!workersAlive) return 'no worker is running'
  if (inFlight?.expired) return 'its lease has expired'
  return inFlight?.silent ? 'it has not been heard of for 15 seconds' : null
}
