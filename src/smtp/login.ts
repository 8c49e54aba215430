import type { KeyCheck } from '../accepting/verify-key.ts'
import type { KnownKey } from '../db/companies/api-keys.ts'
import { LoginLimits, networkOf } from '../runtime/login-limits.ts'
import { Refused } from './refused.ts'

/** A client that has logged in. The key is checked again for every message, so that a revoked one ends within a second. */
export type SmtpUser = { apiKey: string }

export type VerifyKey = (presented: string) => Promise<KeyCheck>

/** AUTH: the API key is the password; the user name is free. */
export function loginCheck(verify: VerifyKey) {
  const limits = new LoginLimits()
  return async function logIn(user: string, apiKey: string, remoteAddress: string): Promise<SmtpUser> {
    const check = await verify(apiKey)
    if (check.kind === 'valid') return { apiKey }
    const network = networkOf(remoteAddress)
    const waitMs = limits.waitMs(user, network, performance.now())
    // 421 ends the connection. A valid key is never delayed: others behind the same address may be guessing.
    if (waitMs > 0)
      throw new Refused(421, '4.7.0', `Too many failed logins; try again in ${Math.ceil(waitMs / 1000)} s`)
    limits.failed(user, network, performance.now())
    throw new Refused(535, '5.7.8', reasonOf(check))
  }
}

/** The key of a session that has logged in, as it is now. */
export async function keyOf(user: SmtpUser | undefined, verify: VerifyKey): Promise<KnownKey> {
  if (!user) throw new Refused(530, '5.7.0', 'AUTH is required, with an API key as the password')
  const check = await verify(user.apiKey)
  if (check.kind === 'valid') return check.key
  throw new Refused(421, '4.7.0', reasonOf(check))
}

function reasonOf(check: Exclude<KeyCheck, { kind: 'valid' }>): string {
  switch (check.kind) {
    case 'unknown':
      return 'The API key is missing or unknown: give it as the password'
    case 'revoked':
      return 'The API key has been revoked'
    case 'missing-scope':
      return `This API key has the scopes ${check.scopes.join(', ')}; this needs send`
  }
}
