import type { Logger } from 'pino'
import type { MemberResult } from '../../outbox/draft.ts'
import type { AcceptResult } from '../../pipeline/accept/accept.ts'
import { DatabaseUnavailable, refusalOf } from '../../platform/postgres/errors.ts'
import { RECIPIENT_SUPPRESSED_MESSAGE, type Refusal } from '../../platform/text/refusal.ts'

/** What SMTP answers where the HTTP API answers with a problem. */
export function refusedBy(refusal: Refusal): Refused {
  switch (refusal.code) {
    case 'RECIPIENT_SUPPRESSED':
      return new Refused(550, '5.7.1', `${RECIPIENT_SUPPRESSED_MESSAGE} (${refusal.recipient})`)
    case 'FROM_NOT_ALLOWED':
      return new Refused(550, '5.7.1', sentences(refusal))
    default:
      return new Refused(550, '5.6.0', sentences(refusal))
  }
}

const sentences = ({ code, errors }: Exclude<Refusal, { code: 'RECIPIENT_SUPPRESSED' }>) =>
  `${code}: ${errors.map(({ path, message }) => `${path}: ${message}`).join('; ')}`

/** The one result of a message, or the reason for none. */
export function resultOf(outcome: AcceptResult): MemberResult {
  switch (outcome.kind) {
    case 'busy':
      return refuse(451, '4.3.2', 'The server is checking too much large HTML of this company; try again')
    case 'key-still-running':
      return refuse(451, '4.3.0', 'A message with this Idempotency-Key is being accepted; try again')
    case 'key-used-for-another-body':
      return refuse(550, '5.6.0', 'This Idempotency-Key was used with another message')
    case 'refused':
      throw refusedBy([...outcome.refusals.values()][0]!)
    case 'answered':
      return accepted(outcome.answer.results[0]!)
  }
}

function accepted(result: MemberResult): MemberResult {
  if (result.status === 'SUPPRESSED')
    throw refusedBy({ code: 'RECIPIENT_SUPPRESSED', recipient: result.suppressed[0]! })
  return result
}

function refuse(code: number, enhancedCode: string, text: string): never {
  throw new Refused(code, enhancedCode, text)
}

/** Translates a lost database and bugs: the client tries again later. */
export function toRefused(error: unknown, log: Logger): Refused {
  if (error instanceof Refused) return error
  if (error instanceof DatabaseUnavailable) {
    const refusal = refusalOf(error)
    if (refusal === 'disk-full') return new Refused(452, '4.3.1', 'The disk of the database is full; try again')
    const what = refusal === 'read-only' ? 'is read-only' : 'does not answer'
    return new Refused(451, '4.3.0', `The database ${what}; try again`)
  }
  if (isDisconnect(error)) return new Refused(451, '4.4.2', 'The connection was lost')
  log.error({ err: error }, 'An SMTP command failed')
  return new Refused(451, '4.3.0', 'Internal error; try again')
}

/** The client went away in the middle of the message; nobody reads the reply. */
const isDisconnect = (error: unknown) =>
  ['ECONNECTION', 'ERR_STREAM_PREMATURE_CLOSE'].includes((error as { code?: string }).code ?? '')

/** A reply line of SMTP has at most 512 bytes with its code and line break. */
const MAX_REPLY_CHARS = 480

/**
 * An SMTP reply that refuses something. Thrown inside smtp/ only: the modules it calls return outcomes as values. smtp-server sends
 * `responseCode` and the message, which begins with the enhanced code of RFC 3463.
 */
export class Refused extends Error {
  override name = 'Refused'
  readonly responseCode: number

  constructor(code: number, enhancedCode: string, text: string) {
    super(`${enhancedCode} ${replyText(text)}`)
    this.responseCode = code
  }
}

/** Replies are ASCII, because not every client has asked for SMTPUTF8. */
function replyText(text: string): string {
  const ascii = text.replaceAll('…', '...').replaceAll(/[^\x20-\x7e]/g, '?')
  return ascii.length > MAX_REPLY_CHARS ? `${ascii.slice(0, MAX_REPLY_CHARS)}...` : ascii
}

/** The message is not well-formed. */
export const malformed = (text: string) => new Refused(554, '5.6.0', text)

/** The message is well-formed, and the gateway would have to drop a part of it. */
export const cannotCarry = (text: string) => new Refused(554, '5.6.1', text)
