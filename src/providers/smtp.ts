import { isIP } from 'node:net'
import { parseConnectionUrl } from 'nodemailer/lib/shared'
import type { SMTPConnectionSendInfo } from 'nodemailer/lib/smtp-connection'
import { maskSensitive } from '../contracts/masking.ts'
import { classifyProviderError, type ProviderFailure, ruleForName } from '../contracts/provider-errors/classify.ts'
import { smtpBounce } from '../contracts/provider-errors/smtp-bounce.ts'
import { MAX_ANSWER_BYTES } from './answer.ts'
import { bareAddress, composeMime, messageIdOf } from './mime.ts'
import type { OutgoingMessage, Provider, ProviderEvent, SendResult } from './provider.ts'
import { SmtpPool } from './smtp-pool.ts'
import { type SmtpError, type SmtpProgress, SmtpSession, type SmtpSettings } from './smtp-session.ts'
import { timedOut } from './thrown.ts'

export type SmtpOptions = {
  /** `smtp://` or `smtps://user:password@host:port`, with nodemailer's options as its query. */
  url: string
  maxConnections?: number
}

/** What relays commonly allow one client. */
const MAX_CONNECTIONS = 10
/** From the lookup of the name to the end of STARTTLS; some servers greet late on purpose. */
const CONNECT_MS = 15_000
/** Behind the caller's signal, for an idle session too. */
const SILENCE_MS = 60_000

export function smtpProvider({ url, maxConnections = MAX_CONNECTIONS }: SmtpOptions): Provider {
  const settings = smtpSettings(url)
  const pool = new SmtpPool(settings, maxConnections)
  return {
    name: 'smtp',
    recognisesAttempts: false,
    send: (message, signal) => sendOnce(pool, message, signal),
    async probe(signal) {
      const session = await SmtpSession.open(settings, signal)
      await session.quit()
      return settings.auth ? 'the relay answers and accepts the login' : 'the relay answers; SMTP_URL has no login'
    },
    close: () => pool.close(),
  }
}

/** A password leaves this machine only under TLS, unless the URL says otherwise (`?requireTLS=false`). */
export function smtpSettings(url: string): SmtpSettings {
  const { auth, ...given } = parseConnectionUrl(url) as SmtpSettings
  if (!/^smtps?:$/i.test(URL.canParse(url) ? new URL(url).protocol : ''))
    throw new Error('SMTP_URL must look like smtp://user:password@host:587 or smtps://user:password@host:465')
  const remote = !isLoopback(given.host ?? 'localhost')
  return {
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    dnsTimeout: CONNECT_MS,
    socketTimeout: SILENCE_MS,
    maxResponseSize: MAX_ANSWER_BYTES,
    ...(auth && remote && !given.secure && { requireTLS: true }),
    ...given,
    ...(auth && { auth: { ...auth, credentials: { user: auth.user, pass: auth.pass } } }),
  }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

async function sendOnce(pool: SmtpPool, message: OutgoingMessage, signal: AbortSignal): Promise<SendResult> {
  const mime = await composeMime(message)
  const recipients = [...message.to, ...message.cc, ...message.bcc].map(bareAddress)
  const envelope = { from: bareAddress(message.from), to: [...new Set(recipients)], size: mime.length }
  const progress: SmtpProgress = { hasSlot: false, opening: false, bodyBegun: false, dotSent: false }
  try {
    const info = await pool.use(session => session.send(envelope, mime, progress), progress, signal)
    return { kind: 'sent', messageId: messageIdOf(message), events: refusedRecipients(info) }
  } catch (error) {
    const events = signal.aborted ? null : bouncesOfAll(error, message)
    if (events) return { kind: 'sent', messageId: messageIdOf(message), events }
    const { hasSlot, bodyBegun, dotSent } = progress
    const when = !bodyBegun ? 'unconnected' : dotSent ? 'left' : 'unsent'
    const failure = signal.aborted ? timedOut('smtp', when) : toFailure(error, progress)
    return { kind: 'failed', failure, ...(!hasSlot && { notAsked: true }) }
  }
}

/** These have their answer already, whatever becomes of the message. */
function refusedRecipients({ rejectedErrors = [] }: Pick<SMTPConnectionSendInfo, 'rejectedErrors'>): ProviderEvent[] {
  return rejectedErrors.map(({ recipient = '', response = '' }) => ({
    kind: 'BOUNCED',
    recipient: recipient.toLowerCase(),
    metadata: { ...smtpBounce(response), diagnosticCode: `smtp; ${maskSensitive(response)}` },
  }))
}

/**
 * Nobody was left to send it to, and every `to` has no mailbox: the same bounce as beside a recipient who exists, so that it
 * means the same. Another refusal (policy, size) is one of the e-mail.
 */
function bouncesOfAll(error: unknown, { to }: OutgoingMessage): ProviderEvent[] | null {
  const events = refusedRecipients(error as Pick<SMTPConnectionSendInfo, 'rejectedErrors'>)
  if (events.some(({ metadata }) => metadata.bounceType === 'Transient')) return null
  const gone = new Set(events.filter(one => one.metadata.bounceType === 'Permanent').map(one => one.recipient))
  return gone.size > 0 && to.every(one => gone.has(bareAddress(one).toLowerCase())) ? events : null
}

/**
 * A reply settles the matter. Without one it is open from the final dot on, and not before. Until the message itself begins, a
 * server that hangs or hangs up is no failure of the e-mail. Where no session could be opened, not even a reply is about the
 * e-mail: an overloaded server, or one that blocks this machine, refuses everything.
 */
function toFailure(error: unknown, { opening, bodyBegun, dotSent }: SmtpProgress): ProviderFailure {
  const { code, originalCode, response, responseCode, message } = error as SmtpError
  const tooLarge = code === 'EMESSAGE' && !responseCode && /size larger than allowed/.test(message)
  const failure = classifyProviderError({
    provider: 'smtp',
    smtpCode: responseCode,
    enhancedStatus: tooLarge ? MESSAGE_TOO_LARGE : undefined,
    // nodemailer puts its own code over the system's, which says more where the tables know it.
    networkCode: originalCode && ruleForName(originalCode) ? originalCode : code,
    message: response ?? message,
  })
  const unanswered = !bodyBegun && !responseCode && failure.retryable
  if ((opening || unanswered) && !failure.openBreaker && !failure.throttled)
    return { ...failure, retryable: true, unconnected: true, deferred: false, ambiguous: false }
  return { ...failure, unconnected: false, ambiguous: dotSent && (!responseCode || failure.ambiguous) }
}

/** As the server would say it, had it been asked (RFC 3463). */
const MESSAGE_TOO_LARGE = '5.3.4'
