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

/** JSON with sorted keys, so that the same body written in another key order has the same hash. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner) => {
    if (inner === null || typeof inner !== 'object' || Array.isArray(inner)) return inner
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
  })
}

export const FULL_HASH = /^(?:sha256:)?([0-9a-f]{64})$/i

/** Accepts `sha256:<hex>`, also without the prefix or in upper case. */
export function readEmailHash(text: string): string | null {
  const [, hex] = FULL_HASH.exec(text.trim()) ?? []
  return hex ? `sha256:${hex.toLowerCase()}` : null
}
