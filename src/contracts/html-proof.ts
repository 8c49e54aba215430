import { createHmac } from 'node:crypto'

/**
 * Raised with every change of the rules (html-proof.test.ts notices one): what was checked by the rules before is then
 * checked again.
 */
export const HTML_RULES_VERSION = 1

/** Says that this HTML has passed these rules: whoever finds it beside the same HTML need not parse it again. */
export function htmlProof(html: string, key: string): string {
  return createHmac('sha256', key).update(`html-rules ${HTML_RULES_VERSION}\n`).update(html).digest('base64url')
}
