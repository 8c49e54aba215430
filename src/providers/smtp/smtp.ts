import { isIP } from 'node:net'
import { parseConnectionUrl } from 'nodemailer/lib/shared'
import type { SMTPConnectionSendInfo } from 'nodemailer/lib/smtp-connection'
import { maskSensitive } from '../../platform/text/masking.ts'
import { timedOut } from '../answers.ts'
import { classifyProviderError, type ProviderFailure, ruleForName } from '../errors/classify.ts'
import { bareAddress, composeMime, messageIdOf } from '../mime.ts'
import {
  MAX_ANSWER_BYTES,
  type OutgoingMessage,
  type Provider,
  type ProviderEvent,
  type SendResult,
} from '../provider.ts'
import { smtpBounce } from './errors.ts'
import { type SmtpError, SmtpPool, type SmtpProgress, SmtpSession, type SmtpSettings } from './session.ts'

export type SmtpOptions = {
  /** `smtp://` or `smtps://user:password@host:port`, with nodemailer's options in the query. */
  url: string
  maxConnections?: number
}

/** Relays commonly allow one client this many connections. */
const MAX_CONNECTIONS = 10
/** From the DNS lookup to the end of STARTTLS. Some servers delay their greeting on purpose. */
const CONNECT_MS = 15_000
/** For idle sessions, and for calls whose signal has no timeout. */
const SILENCE_MS = 60_000

export function smtpProvider({ url, maxConnections = MAX_CONNECTIONS }: SmtpOptions): Provider {
  const settings = smtpSettings(url)
  const pool = new SmtpPool(settings, maxConnections)
  return {
    name: 'smtp',
    recognisesAttempts: false,
    send: (message, signal) => sendOnce(pool, message, settings.auth !== undefined, signal),
    async probe(signal) {
      const session = await SmtpSession.open(settings, signal)
      await session.quit()
      return settings.auth ? 'the relay answers and accepts the login' : 'the relay answers; SMTP_URL has no login'
    },
    close: () => pool.close(),
  }
}

/** Passwords are sent to other machines only over TLS, unless the URL has `?requireTLS=false`. */
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

/** Whether mail to this relay is encrypted on its way: always, if the relay offers it, or never. `local`: it does not leave the machine. */
export function smtpTls(url: string): 'always' | 'offered' | 'never' | 'local' {
  const { secure, requireTLS, ignoreTLS, host = 'localhost' } = smtpSettings(url)
  if (isLoopback(host)) return 'local'
  if (secure || requireTLS) return 'always'
  return ignoreTLS ? 'never' : 'offered'
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

async function sendOnce(
  pool: SmtpPool,
  message: OutgoingMessage,
  hasLogin: boolean,
  signal: AbortSignal,
): Promise<SendResult> {
  const mime = await composeMime(message)
  const recipients = [...message.to, ...message.cc, ...message.bcc].map(bareAddress)
  const envelope = { from: bareAddress(message.from), to: [...new Set(recipients)], size: mime.length }
  const progress: SmtpProgress = { hasSlot: false, opening: false, bodyBegun: false, dotSent: false }
  try {
    const info = await pool.use(session => session.send(envelope, mime, progress), progress, signal)
    return { kind: 'sent', messageId: messageIdOf(message), events: refusedRecipients(info) }
  } catch (error) {
    const events = signal.aborted ? null : bouncesWhenAllRefused(error, message)
    if (events) return { kind: 'sent', messageId: messageIdOf(message), events }
    const failure = signal.aborted ? silence(progress) : toFailure(error, progress, hasLogin)
    return { kind: 'failed', failure, ...(!progress.hasSlot && { notCalled: true }) }
  }
}

/**
 * The server has not answered in time. Silence on an open session before the body is most often about the recipient, whose own server
 * the relay waits for: the e-mail is deferred, as by a 4xx reply, and does not park the relay for everybody.
 */
function silence({ hasSlot, opening, bodyBegun, dotSent }: SmtpProgress): ProviderFailure {
  if (bodyBegun) return timedOut('smtp', dotSent ? 'left' : 'unsent')
  return opening || !hasSlot ? timedOut('smtp', 'unconnected') : { ...timedOut('smtp', 'unsent'), deferred: true }
}

/** These recipients were refused, whatever happens to the message. */
function refusedRecipients({ rejectedErrors = [] }: Pick<SMTPConnectionSendInfo, 'rejectedErrors'>): ProviderEvent[] {
  return rejectedErrors.map(({ recipient = '', response = '' }) => ({
    kind: 'BOUNCED',
    recipient: recipient.toLowerCase(),
    metadata: { ...smtpBounce(response), diagnosticCode: `smtp; ${maskSensitive(response)}` },
  }))
}

/**
 * All recipients were refused and no `to` has a mailbox: counts as sent and bounced, as it would if another recipient had been
 * accepted. A refusal for policy or size is a failure of the e-mail instead.
 */
function bouncesWhenAllRefused(error: unknown, { to }: OutgoingMessage): ProviderEvent[] | null {
  const events = refusedRecipients(error as Pick<SMTPConnectionSendInfo, 'rejectedErrors'>)
  if (events.some(({ metadata }) => metadata.bounceType === 'Transient')) return null
  const gone = new Set(events.filter(one => one.metadata.bounceType === 'Permanent').map(one => one.recipient))
  return gone.size > 0 && to.every(one => gone.has(bareAddress(one).toLowerCase())) ? events : null
}

/**
 * A reply decides. Without one the outcome is unknown from the final dot on, and not before. Before the body begins, a silent or
 * closed connection is not a failure of the e-mail. If no session could be opened, not even a reply is about the e-mail: an
 * overloaded server, or one that blocks this machine, refuses everything.
 */
function toFailure(error: unknown, progress: SmtpProgress, hasLogin: boolean): ProviderFailure {
  const { opening, bodyBegun, dotSent } = progress
  const { code, originalCode, response, responseCode, message } = error as SmtpError
  const tooLarge = code === 'EMESSAGE' && !responseCode && /size larger than allowed/.test(message)
  const failure = classifyProviderError({
    provider: 'smtp',
    smtpCode: responseCode,
    enhancedStatus: tooLarge ? MESSAGE_TOO_LARGE : undefined,
    // nodemailer replaces the system's code by its own; the system's is more precise if the tables have it.
    networkCode: originalCode && ruleForName(originalCode) ? originalCode : code,
    message: response ?? message,
  })
  const unanswered = !bodyBegun && !responseCode && failure.retryable
  if ((opening || unanswered) && !failure.openBreaker && !failure.throttled)
    return { ...failure, retryable: true, unconnected: true, deferred: false, ambiguous: false }
  if (isAboutRecipient(error, failure, progress, hasLogin)) return { ...failure, ...REFUSED_RECIPIENT }
  return { ...failure, unconnected: false, ambiguous: dotSent && (!responseCode || failure.ambiguous) }
}

/**
 * The gateway is logged in, and its recipients are refused for want of a login: a relay passes on what their server says. It must
 * not park the relay for everybody.
 */
function isAboutRecipient(
  error: unknown,
  { category, openBreaker }: ProviderFailure,
  { opening }: SmtpProgress,
  hasLogin: boolean,
): boolean {
  const { rejectedErrors = [] } = error as Pick<SMTPConnectionSendInfo, 'rejectedErrors'>
  return hasLogin && !opening && openBreaker && category === 'CONFIGURATION_ERROR' && rejectedErrors.length > 0
}

const REFUSED_RECIPIENT = {
  code: 'SMTP_REJECTED_BY_POLICY',
  category: 'PERMANENT_ERROR',
  retryable: false,
  openBreaker: false,
} as const

/** The status a server would give (RFC 3463); nodemailer checks the size limit itself. */
const MESSAGE_TOO_LARGE = '5.3.4'
