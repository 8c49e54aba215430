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
