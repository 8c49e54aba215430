import { hash } from 'node:crypto'

/**
 * Raise it when a change of the rules can change a result (proof.test.ts notices every change of the files): HTML that was
 * checked by an older version is then checked again.
 */
export const HTML_RULES_VERSION = 4

/**
 * Proves that this HTML has passed the rules of this version, so that it need not be parsed again. A key prefix is enough because
 * SHA-512/256 is not open to length extension, and it costs a third of an HMAC.
 */
export function htmlProof(html: string, key: string): string {
  return hash('sha512-256', `${key.length} ${key} html-rules ${HTML_RULES_VERSION}\n${html}`, 'base64url')
}
