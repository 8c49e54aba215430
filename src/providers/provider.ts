import { pipeline, Readable, Transform } from 'node:stream'
import type { RateHint } from './answers.ts'
import type { ProviderFailure } from './errors/classify.ts'
import { ANSWER_TOO_LARGE } from './errors/network.ts'

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

/** A normal response has a few hundred bytes; without a limit, ten of 200 MB would fill the memory of the process. */
export const MAX_ANSWER_BYTES = 1024 * 1024

/** The request was already sent, so a call that ends with this error has an unknown outcome. */
export function answerTooLarge(): Error {
  return Object.assign(new Error(`The answer is longer than ${MAX_ANSWER_BYTES} bytes`), { code: ANSWER_TOO_LARGE })
}

/** For clients of the AWS SDK: `client.middlewareStack.add(limitAnswers, LIMIT_ANSWERS_STEP)`. */
export function limitAnswers<Args, Result extends { response: unknown }>(next: (args: Args) => Promise<Result>) {
  return async (args: Args): Promise<Result> => {
    const result = await next(args)
    const response = result.response as { body?: unknown }
    if (response.body instanceof Readable) response.body = limitAnswer(response.body)
    return result
  }
}

/** Runs before the SDK reads the body. */
export const LIMIT_ANSWERS_STEP = { step: 'deserialize', priority: 'low', name: 'limitAnswers' } as const

/** Passes the bytes on; fails and closes the connection when there are too many. */
function limitAnswer(body: Readable): Readable {
  let bytes = 0
  const limited = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      if (bytes > MAX_ANSWER_BYTES) done(answerTooLarge())
      else done(null, chunk)
    },
  })
  // The reader of the result gets the error; `pipeline` only has to close the source.
  return pipeline(body, limited, () => {})
}

type ProviderTag = { name: string; value: string }

/** SES and Resend both allow ASCII letters, digits, _ and -, at most 256 characters. */
const MAX_CHARS = 256
/** SES allows 50; Resend documents no limit. */
const MAX_TAGS = 50

/**
 * The provider returns these tags in its events, which links an event to its attempt. A company's tag `campaign:spring` becomes
 * that pair, `welcome` becomes `welcome=true`; the gateway's own tags cannot be replaced.
 */
export function providerTags({ outboxId, attemptId, tags }: OutgoingMessage): ProviderTag[] {
  const named = new Map([
    ['outbox_id', outboxId],
    ['attempt_id', attemptId],
  ])
  for (const tag of tags) {
    const [, name = tag, value = 'true'] = /^([^:=]+)[:=](.+)$/s.exec(tag) ?? []
    const key = plain(name)
    if (key && !named.has(key)) named.set(key, plain(value) || 'true')
  }
  return [...named].slice(0, MAX_TAGS).map(([name, value]) => ({ name, value }))
}

/** `Promoção de março` → `Promocao_de_marco`. */
function plain(text: string): string {
  const ascii = text.normalize('NFKD').replace(/\p{M}/gu, '')
  return ascii
    .trim()
    .replace(/[^A-Za-z0-9_-]+/g, '_')
    .slice(0, MAX_CHARS)
}
