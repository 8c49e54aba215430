import type { ProviderFailure } from '../contracts/provider-errors/classify.ts'
import type { RateHint } from '../contracts/provider-errors/rate-headers.ts'

export type OutgoingMessage = {
  outboxId: string
  /** Travels with the message as tag, idempotency key or Message-ID. */
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

/** What a provider reports later; capture makes them up for its magic recipients. */
export type ProviderEvent = {
  kind: 'DELIVERED' | 'BOUNCED' | 'COMPLAINED'
  recipient: string
  metadata: Record<string, unknown>
}

/**
 * A failure that is `ambiguous` says: the message may have been accepted all the same. notAsked: it never came to a call, so the
 * failure says nothing about the provider.
 */
export type SendResult =
  | { kind: 'sent'; messageId: string; events: ProviderEvent[]; rate?: RateHint }
  | { kind: 'failed'; failure: ProviderFailure; rate?: RateHint; notAsked?: true }

/** What the account may send, as the provider itself says. `paused`: it takes nothing now, and why. */
export type ProviderQuota = { recipientsPerSecond: number | null; paused: string | null }

export type Provider = {
  /** `ses`, `ses:eu-west-1`, `resend`, `smtp`, `capture`: one entry of EMAIL_PROVIDER. */
  readonly name: string
  /** The same attempt id again sends nothing twice, so an unknown outcome is resolved by asking again. */
  readonly recognisesAttempts: boolean
  /** Its limit counts messages (requests), not recipients. */
  readonly limitsMessages?: true
  /**
   * Resolves for every answer of the provider, and soon after the signal is aborted; rejects only for bugs and lost
   * infrastructure. Makes one request: retrying is the line's decision.
   */
  send(message: OutgoingMessage, signal: AbortSignal): Promise<SendResult>
  /** Where the provider can be asked. */
  learnQuota?(signal: AbortSignal): Promise<ProviderQuota>
  /** Connects and authenticates, and sends nothing. Answers what it found; rejects with what is wrong. */
  probe?(signal: AbortSignal): Promise<string>
  close(): Promise<void>
}
