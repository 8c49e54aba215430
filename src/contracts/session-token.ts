import { createHash, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'

const PATTERN = /^([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\.([A-Za-z0-9_-]{43})$/

export type SessionToken = { id: string; secret: string }

/** Of a session or of a sign-in link, as `<id>.<secret>`: the id finds the row, the secret is compared. */
export function makeSessionToken(): SessionToken & { token: string; secretHash: Buffer } {
  const id = randomUUID()
  const secret = randomBytes(32).toString('base64url')
  return { id, secret, token: `${id}.${secret}`, secretHash: hashOf(secret) }
}

export function parseSessionToken(text: string): SessionToken | null {
  const match = PATTERN.exec(text)
  return match && { id: match[1]!, secret: match[2]! }
}

export function sessionSecretMatches(secret: string, secretHash: Buffer): boolean {
  return timingSafeEqual(hashOf(secret), secretHash)
}

/** A fast hash is enough for 256 random bits. */
const hashOf = (secret: string) => createHash('sha256').update(secret).digest()
