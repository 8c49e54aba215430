import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { userAgent } from '../../platform/version.ts'
import { describeThrown, markHandshakeError, readRateHeaders, timedOut } from '../answers.ts'
import { classifyProviderError, type ProviderFailure } from '../errors/classify.ts'
import { ANSWER_TOO_LARGE } from '../errors/network.ts'
import {
  answerTooLarge,
  MAX_ANSWER_BYTES,
  type OutgoingMessage,
  type Provider,
  providerTags,
  type SendResult,
} from '../provider.ts'

type ResendOptions = { apiKey: string; baseUrl?: string }

export const RESEND_BASE_URL = 'https://api.resend.com'

/** fetch instead of the official SDK, which takes no abort signal: a call that cannot be ended would keep its lease. */
export function resendProvider({ apiKey, baseUrl = RESEND_BASE_URL }: ResendOptions): Provider {
  const endpoint = `${baseUrl.replace(/\/+$/, '')}/emails`
  const headers = resendHeaders(apiKey)
  subscribe(CONNECT_ERRORS, markConnectError)
  return {
    name: 'resend',
    recognisesAttempts: true,
    limitsMessages: true,
    async probe(signal) {
      const response = await fetch(`${baseUrl.replace(/\/+$/, '')}/domains`, { headers, redirect: 'error', signal })
      const { name, message } = parseAnswer(await readAnswer(response))
      if (response.ok) return 'the API key is accepted'
      // A key that is valid for sending only is refused here.
      if (name === 'restricted_api_key') return 'the API key is accepted, for sending only'
      throw new Error(`${name ?? `HTTP ${response.status}`}: ${message ?? 'the API key is not accepted'}`)
    },
    // The connections of fetch belong to the process; idle ones do not keep it running.
    close: async () => void unsubscribe(CONNECT_ERRORS, markConnectError),
    async send(message, signal) {
      if (signal.aborted) return { kind: 'failed', failure: timedOut('resend', 'unsent') }
      try {
        const response = await fetch(endpoint, {
          method: 'POST',
          headers: { ...headers, 'Idempotency-Key': message.attemptId },
          body: JSON.stringify(toResendBody(message)),
          redirect: 'error',
          signal,
        })
        const rate = readRateHeaders(name => response.headers.get(name), Date.now())
        return { ...(await resultOf(response)), rate }
      } catch (error) {
        return { kind: 'failed', failure: signal.aborted ? timedOut('resend', 'left') : toFailure(error) }
      }
    },
  }
}

/** fetch does not expose its socket, so errors while connecting come from the diagnostics channel of undici. */
const CONNECT_ERRORS = 'undici:client:connectError'

function markConnectError(message: unknown): void {
  markHandshakeError((message as { error: Error }).error)
}

/** Checked here, because the error message of fetch would contain the key. */
export function resendHeaders(apiKey: string): Record<string, string> {
  if (!/^[\x21-\x7e]+$/.test(apiKey)) throw new Error('RESEND_API_KEY must be plain ASCII without spaces')
  return { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json', 'User-Agent': userAgent() }
}

/** Must be identical for every call of one attempt: Resend compares the bodies under one idempotency key. */
function toResendBody(message: OutgoingMessage) {
  const { from, to, cc, bcc, replyTo, subject, html, text, headers, attachments } = message
  return {
    from,
    to,
    ...(cc.length > 0 && { cc }),
    ...(bcc.length > 0 && { bcc }),
    ...(replyTo.length > 0 && { reply_to: replyTo }),
    subject,
    ...(html !== null && { html }),
    text,
    ...(Object.keys(headers).length > 0 && { headers }),
    tags: providerTags(message),
    ...(attachments.length > 0 && { attachments: attachments.map(toAttachment) }),
  }
}

function toAttachment({ filename, contentType, contentId, base64 }: OutgoingMessage['attachments'][number]) {
  return { filename, content: base64, content_type: contentType, ...(contentId !== null && { content_id: contentId }) }
}

async function resultOf(response: Response): Promise<SendResult> {
  const { ok, status: statusCode } = response
  // The status is enough to know a refusal, even if its text was cut off.
  const text = await readAnswer(response).catch(error => {
    if (ok || error.code === ANSWER_TOO_LARGE) throw error
    return ''
  })
  const { id, name, message, ownForm } = parseAnswer(text)
  if (ok && id) return { kind: 'sent', messageId: id, events: [] }
  const reason = message ?? (ok ? 'Answer without an id' : text)
  return {
    kind: 'failed',
    failure: classifyProviderError({ provider: 'resend', name, statusCode, ownForm, message: reason }),
  }
}

function toFailure(error: unknown): ProviderFailure {
  return classifyProviderError({ provider: 'resend', ...describeThrown(error) })
}

export async function readAnswer(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk)
    bytes += chunk.length
    // Leaving the loop cancels the rest of the body.
    if (bytes > MAX_ANSWER_BYTES) throw answerTooLarge()
  }
  return Buffer.concat(chunks).toString()
}

/** ownForm: it has `{ statusCode, name, message }` like every error of Resend. */
type Answer = { id?: string; name?: string; message?: string; ownForm?: boolean }

function parseAnswer(text: string): Answer {
  try {
    const answer = Object(JSON.parse(text)) as Record<string, unknown>
    const [id, name, message] = [
      textOrUndefined(answer.id),
      textOrUndefined(answer.name),
      textOrUndefined(answer.message),
    ]
    const ownForm = typeof answer.statusCode === 'number' && !!name && !!message
    return { ...(id && { id }), ...(name && { name }), ...(message && { message }), ownForm }
  } catch {
    return {}
  }
}

const textOrUndefined = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined)
