import { createHmac } from 'node:crypto'
import { canonicalJson } from '../contracts/canonical-json.ts'
import type { RequestToStore } from '../db/outbox/draft.ts'
import type { Caller } from './caller.ts'

/** A caller's key, with the body as the caller wrote it, which is what the key stands for. */
export type IdempotencyKey = { key: string; writtenBody: unknown }

export function storedIdempotency(
  given: IdempotencyKey | null,
  caller: Caller,
  { pepper, days }: { pepper: string; days: number },
): RequestToStore['idempotency'] {
  if (!given) return null
  const fingerprint = createHmac('sha256', pepper).update(canonicalJson(given.writtenBody)).digest('hex')
  return { key: storedKey(given.key, caller, pepper), fingerprint, days }
}

/**
 * A key stands for a request of its company in its mode: a test e-mail must not answer for a live one. Hashed with the pepper,
 * since callers make keys of order numbers and addresses.
 */
function storedKey(key: string, { companyId, test }: Caller, pepper: string): string {
  const scope = `idempotency ${test ? 'test' : 'live'} ${companyId}`
  return createHmac('sha256', pepper).update(`${scope} ${key}`).digest('base64url')
}
