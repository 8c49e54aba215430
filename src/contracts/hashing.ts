import { createHash, createHmac, hash, timingSafeEqual } from 'node:crypto'
import { normaliseDocument } from './documents.ts'

/** The address hash of the public API and of the suppression list; see docs/suppression.md. */
export function hashEmail(email: string): string {
  return `sha256:${hash('sha256', email.toLowerCase().trim(), 'hex')}`
}

/** Keyed, because a plain SHA-256 of every possible CPF can be computed in minutes. Returns 64 hexadecimal digits. */
export function hashDocument(document: string, pepper: string | Uint8Array): string {
  if (pepper.length === 0) throw new Error('hashDocument needs a pepper: without it the hash can be reversed')
  return createHmac('sha256', pepper).update(normaliseDocument(document)).digest('hex')
}

/** Compares digests, so the time does not depend on the content or the length of the texts. */
export function hashesEqual(a: string, b: string): boolean {
  return timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest())
}
