import { createHash, createHmac, hash, timingSafeEqual } from 'node:crypto'
import { normaliseDocument } from './documents.ts'

/** Seed 004's address hash, as the API shows it. */
export function hashEmail(email: string): string {
  return `sha256:${hash('sha256', email.toLowerCase().trim(), 'hex')}`
}

/** Keyed, because all CPFs can be tried in minutes against a bare SHA-256 (decision 27). 64 hexadecimal digits. */
export function hashDocument(document: string, pepper: string | Uint8Array): string {
  if (pepper.length === 0) throw new Error('hashDocument needs a pepper: without it the hash can be reversed')
  return createHmac('sha256', pepper).update(normaliseDocument(document)).digest('hex')
}

/** Comparing digests of both takes the same time whatever they hold and however long they are. */
export function hashesEqual(a: string, b: string): boolean {
  return timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest())
}
