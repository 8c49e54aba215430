import type { FastifyRequest } from 'fastify'
import type { IncomingEvent } from '../db/feedback/provider-events.ts'
import { Problem } from './problem.ts'
import type { CertificateSource, SnsRefusal, SnsRules } from './sns.ts'

export type ProviderEventDeps = {
  /** Resolves when the event is committed. */
  inbox: { add(event: IncomingEvent): Promise<unknown> }
  onReported: () => void
  onRefused: (provider: 'ses' | 'resend', reason: string) => void
  sns: {
    /** Without topics: Amazon SNS is not set up. They are those of SNS_TOPIC_ARNS and of `ses setup`. */
    rules: () => Promise<SnsRules>
    /** The database's clock. */
    nowMs: () => number
    certificates: CertificateSource
    confirm: (subscription: { topicArn: string; token: string; region: string }) => Promise<void>
    rawPassword: string | null
  }
  /** Empty: RESEND_WEBHOOK_SECRET is not set. */
  resendSecrets: readonly string[]
}

export async function storeEvent(event: IncomingEvent, { inbox, onReported }: ProviderEventDeps) {
  await inbox.add(event)
  onReported()
  return { processed: true as const }
}

/** The parser of these routes leaves the body as text, because signatures are computed over the bytes. */
export function bodyText({ body }: FastifyRequest): string {
  return typeof body === 'string' ? body : ''
}

const PROBLEM_OF = { malformed: 'INVALID_EVENT', refused: 'EVENT_REFUSED', retry: 'EVENT_NOT_CHECKED' } as const

export function eventProblem(
  request: FastifyRequest,
  provider: 'ses' | 'resend',
  { kind, reason, detail }: SnsRefusal,
  { onRefused }: ProviderEventDeps,
): Problem {
  onRefused(provider, reason)
  request.log.info({ provider, reason }, 'A provider event was refused')
  return new Problem(PROBLEM_OF[kind], { detail, ...(kind === 'retry' && { headers: { 'retry-after': '5' } }) })
}
