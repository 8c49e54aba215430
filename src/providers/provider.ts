import type { ProviderFailure } from '../contracts/provider-errors.ts'

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

export type SendResult =
  | { kind: 'sent'; messageId: string; events: ProviderEvent[] }
  | { kind: 'failed'; failure: ProviderFailure }

export type Provider = {
  readonly name: string
  /** Resolves for every answer of the provider; rejects only for bugs and lost infrastructure. */
  send(message: OutgoingMessage, signal: AbortSignal): Promise<SendResult>
}
