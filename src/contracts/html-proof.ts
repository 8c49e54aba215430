import { hash } from 'node:crypto'

/**
 * Raised with every change of the rules (html-proof.test.ts notices one): what was checked by the rules before is then
 * checked again.
 */
export const HTML_RULES_VERSION = 3

/**
 * Says that this HTML has passed these rules: whoever finds it beside the same HTML need not parse it again. The key in front is
 * enough here: SHA-512/256 shows half of its state, so nobody can continue it, and one call costs a third of an HMAC.
 */
export function htmlProof(html: string, key: string): string {
  return hash('sha512-256', `${key.length} ${key} html-rules ${HTML_RULES_VERSION}\n${html}`, 'base64url')
}
