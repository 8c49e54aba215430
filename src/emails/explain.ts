import { z } from 'zod'
import { type EmailSummary, emailSummarySchema } from '../outbox/email-view.ts'
import { EMAIL_STATUSES } from '../outbox/states.ts'
import { maxAttempts } from '../settings/retry.ts'

/** How many e-mails of its company go before it, and how many companies share the capacity. */
export type QueuePosition = {
  ahead: number
  companies: number
  paused: boolean
  pauseReason: string | null
}

/** Facts from other tables than the e-mail's own row. Null: does not apply. */
export type EmailLocation = {
  queuePosition: QueuePosition | null
  /** work: a worker has claimed it. dispatch: it is in the BullMQ queue. silent: that worker has sent no heartbeat for 15 seconds. */
  inFlight: { kind: 'work' | 'dispatch'; holder: string; expired: boolean; silent: boolean } | null
  unknown: { reason: string; provider: string; since: string; resolveAt: string; onUnknown: 'resend' | 'hold' } | null
  /** Every provider in use is parked. */
  parked: z.infer<typeof parkedProviderSchema>[] | null
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

const NEXT_STEPS = [
  ...(['resume', 'probe', 'due', 'turn', 'no-worker', 'soon', 'answer', 'report', 'decide', 'hold'] as const),
  ...(['turn-redis', 'lost', 'returned', 'no-report', 'resolve', 'unless-resolved'] as const),
  ...(['unless-reported', 'resend', 'resend-unsuppressed', 'replay', 'replay-expired', 'purged'] as const),
] as const
export type NextStep = (typeof NEXT_STEPS)[number]

const instant = z.iso.datetime()

/** The public answer: sentences in English, and fields for programs. */
export const explanationSchema = z
  .object({
    outboxId: z.uuid(),
    status: z.enum(EMAIL_STATUSES),
    summary: z.string().describe('The current state and its reason, in one sentence'),
    next: z.string().nullable().describe('What happens next, in one sentence'),
    nextStep: z.enum(NEXT_STEPS).nullable().describe('The same for programs'),
    nextAt: instant.nullable(),
    aheadInCompany: z.int().nullable().describe('E-mails of this company that go first'),
    companiesSharing: z.int().nullable().describe('Companies that have mail ready'),
    pauseReason: z.string().nullable().describe('Why its company is paused'),
    parkedProviders: z.array(z.string()).nullable().describe('Set while every provider in use is parked'),
    attempts: z.int(),
    maxAttempts: z.int(),
    lastError: emailSummarySchema.shape.lastError,
  })
  .meta({ id: 'Explanation' })
export type Explanation = z.infer<typeof explanationSchema>

const parkedProviderSchema = z.object({
  provider: z.string(),
  since: instant,
  code: z.string(),
  reason: z.string(),
  probeAt: instant,
})
const lostBecause = z.enum(['no-worker', 'lease-expired', 'silent'])
export type LostBecause = z.infer<typeof lostBecause>
const othersBounced = z
  .object({ bounced: z.int(), of: z.int() })
  .nullable()
  .describe('Recipients that bounced, where the status does not say it')

/** Where an e-mail is and why. What its own row says is not repeated. */
const stateSchema = z.discriminatedUnion('code', [
  z.object({ code: z.literal('scheduled'), at: instant }),
  z.object({ code: z.literal('paused'), reason: z.string().nullable() }),
  z.object({ code: z.literal('parked'), providers: z.array(parkedProviderSchema) }),
  z.object({ code: z.literal('claimed'), worker: z.string() }),
  z.object({ code: z.literal('claim-lost'), worker: z.string(), because: lostBecause }),
  z.object({ code: z.literal('turn'), ahead: z.int().describe('1001: more than 1000'), companies: z.int() }),
  z.object({ code: z.literal('attempt-lost'), because: lostBecause }),
  z.object({ code: z.literal('unknown'), provider: z.string(), reason: z.string(), since: instant }),
  z.object({ code: z.enum(['sent', 'delivered', 'complained']), othersBounced, sentAgain: z.boolean() }),
  z.object({
    code: z.enum([
      ...(['on-queue', 'becoming-ready', 'attempt', 'unknown-cause', 'bounced', 'cancelled', 'expired'] as const),
      ...(['suppressed', 'rejected', 'failed', 'exhausted'] as const),
    ]),
  }),
])
export type EmailState = z.infer<typeof stateSchema>

const retrySchema = z.object({
  attempt: z.int(),
  of: z.int().nullable().describe('null: repeated until it expires'),
  because: z
    .enum(['failed', 'throttled', 'unconnected'])
    .nullable()
    .describe('What became of the attempt before; only a failed one counts'),
})
export type Retry = z.infer<typeof retrySchema>

/** For the admin UI, which has sentences in its own languages. */
export const explanationInCodesSchema = explanationSchema.extend({
  state: stateSchema,
  retry: retrySchema.nullable().describe('Set while it waits for another attempt'),
})
type ExplanationInCodes = Pick<z.infer<typeof explanationInCodesSchema>, 'state' | 'retry' | 'nextStep' | 'nextAt'>

/** Where an e-mail is and why, what happens next and when. */
export function explainInCodes(email: EmailSummary, location: EmailLocation): ExplanationInCodes {
  const [state, nextStep = null, nextAt = null] = decideState(email, location)
  return { state, retry: decideRetry(email), nextStep, nextAt }
}

type Decision = [state: EmailState, nextStep?: NextStep | null, nextAt?: string]

function decideState(email: EmailSummary, location: EmailLocation): Decision {
  const { contentGone, eventsExpected, sentAgain } = location
  switch (email.status) {
    case 'PENDING':
    case 'RETRY_SCHEDULED':
      return decideWaiting(email, location)
    case 'PROCESSING': {
      const because = whyLost(location)
      return because ? [{ code: 'attempt-lost', because }, 'lost'] : [{ code: 'attempt' }, 'answer']
    }
    case 'UNKNOWN':
      return decideUnknown(location)
    case 'SENT':
      return [
        { code: 'sent', othersBounced: findOthersBounced(location), sentAgain },
        eventsExpected ? 'report' : 'no-report',
      ]
    case 'DELIVERED':
      return [{ code: 'delivered', othersBounced: findOthersBounced(location), sentAgain }]
    case 'COMPLAINED':
      return [{ code: 'complained', othersBounced: findOthersBounced(location), sentAgain: false }]
    case 'BOUNCED':
      return [{ code: 'bounced' }, contentGone ? null : 'resend']
    case 'CANCELLED':
      return [{ code: 'cancelled' }]
    case 'EXPIRED':
      return [{ code: 'expired' }, contentGone ? 'purged' : 'replay-expired']
    case 'REJECTED':
    case 'FAILED':
    case 'DLQ': {
      if (email.lastError?.code === 'RECIPIENT_SUPPRESSED')
        return [{ code: 'suppressed' }, contentGone ? null : 'resend-unsuppressed']
      const code = ({ REJECTED: 'rejected', FAILED: 'failed', DLQ: 'exhausted' } as const)[email.status]
      return [{ code }, contentGone ? 'purged' : 'replay']
    }
  }
}

function decideWaiting({ nextAttemptAt }: EmailSummary, location: EmailLocation): Decision {
  const { queuePosition, inFlight, parked, workersAlive, throughRedis } = location
  if (!queuePosition && !inFlight && nextAttemptAt)
    return [{ code: 'scheduled', at: nextAttemptAt }, 'due', nextAttemptAt]
  if (queuePosition?.paused) return [{ code: 'paused', reason: queuePosition.pauseReason }, 'resume']
  if (parked?.[0]) return [{ code: 'parked', providers: parked }, 'probe', parked.map(one => one.probeAt).sort()[0]!]
  if (inFlight?.kind === 'dispatch') return [{ code: 'on-queue' }, workersAlive ? 'soon' : 'no-worker']
  if (inFlight) {
    const worker = inFlight.holder
    const because = whyLost(location)
    return because ? [{ code: 'claim-lost', worker, because }, 'returned'] : [{ code: 'claimed', worker }, 'soon']
  }
  if (!queuePosition) return [{ code: 'becoming-ready' }, 'soon']
  const { ahead, companies } = queuePosition
  const step = throughRedis ? 'turn-redis' : 'turn'
  return [{ code: 'turn', ahead, companies }, workersAlive ? step : 'no-worker']
}

/** Why nobody works on what is claimed; null: somebody does. */
function whyLost({ inFlight, workersAlive }: EmailLocation): LostBecause | null {
  if (!workersAlive) return 'no-worker'
  if (inFlight?.expired) return 'lease-expired'
  return inFlight?.silent ? 'silent' : null
}

function decideUnknown({ unknown: unknownSend, eventsExpected }: EmailLocation): Decision {
  if (!unknownSend) return [{ code: 'unknown-cause' }, 'decide']
  const { provider, reason, since, resolveAt, onUnknown } = unknownSend
  const [reported, unreported] =
    onUnknown === 'hold' ? (['hold', 'resolve'] as const) : (['unless-reported', 'unless-resolved'] as const)
  return [{ code: 'unknown', provider, reason, since }, eventsExpected ? reported : unreported, resolveAt]
}

const findOthersBounced = ({ recipients: { bounced, of } }: EmailLocation) =>
  bounced > 0 && bounced < of ? { bounced, of } : null

function decideRetry({ status, attempts, maxAttempts: max, lastError }: EmailSummary): Retry | null {
  if (status !== 'RETRY_SCHEDULED') return null
  // With the policy persistent an e-mail expires before its attempts are used up.
  const of = max >= maxAttempts('persistent') ? null : max
  return { attempt: attempts + 1, of, because: lastError && becauseOf(lastError) }
}

function becauseOf({ code, category }: NonNullable<EmailSummary['lastError']>): Retry['because'] {
  // SMTP status 4.7.28 is about one recipient's domain and is retried like any other 4xx.
  if (category === 'QUOTA_ERROR' && code !== 'SMTP_RATE_LIMITED') return 'throttled'
  return code === 'NETWORK_ERROR' ? 'unconnected' : 'failed'
}
