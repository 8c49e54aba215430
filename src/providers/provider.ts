import type { ProviderFailure } from '../contracts/provider-errors/classify.ts'
import type { RateHint } from '../contracts/provider-errors/rate-headers.ts'

export type OutgoingMessage = {
  outboxId: string
  /** Sent with the message as a tag, idempotency key or Message-ID. */
  attemptId: string
  companyId: string
  from: string
  to: string[]
  cc: string[]
  bcc: string[]
  replyTo: string[]
  subject: string
  html: string | null
  text: string
  headers: Record<string, string>
  tags: string[]
  attachments: { filename: string; contentType: string; contentId: string | null; base64: string }[]
}

/** Known at once: recipients refused by an SMTP server, and events that capture simulates. */
export type ProviderEvent = {
  kind: 'DELIVERED' | 'BOUNCED' | 'COMPLAINED'
  recipient: string
  metadata: Record<string, unknown>
}

/**
 * `failure.ambiguous`: the message may have been accepted, the outcome is unknown. notCalled: there was no call, so the failure shows
 * nothing about the provider.
 */
export type SendResult =
  | { kind: 'sent'; messageId: string; events: ProviderEvent[]; rate?: RateHint }
  | { kind: 'failed'; failure: ProviderFailure; rate?: RateHint; notCalled?: true }

/** The limits reported by the provider. `paused`: why the account cannot send now. */
export type ProviderQuota = { recipientsPerSecond: number | null; paused: string | null }

export type Provider = {
  /** `ses`, `ses:eu-west-1`, `resend`, `smtp`, `capture`: one entry of EMAIL_PROVIDER. */
  readonly name: string
  /** A second request with the same attempt id does not send again, so it resolves an unknown outcome. */
  readonly recognisesAttempts: boolean
  /** The rate limit counts messages (requests), not recipients. */
  readonly limitsMessages?: true
  /**
   * Resolves for every answer of the provider, and soon after the signal is aborted; rejects only for bugs and lost
   * infrastructure. Makes one request: retries are decided when the outcome is settled.
   */
  send(message: OutgoingMessage, signal: AbortSignal): Promise<SendResult>
  /** Only if the provider's API has it. */
  learnQuota?(signal: AbortSignal): Promise<ProviderQuota>
  /** Connects and authenticates without sending. Resolves with a description; rejects with the problem. */
  probe?(signal: AbortSignal): Promise<string>
  close(): Promise<void>
}
