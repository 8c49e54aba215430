import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

export const SCOPES = ['send', 'read', 'manage'] as const
export type Scope = (typeof SCOPES)[number]
/** Every row that an API key reads or changes belongs to one company and one mode (live or test). */
export type Owner = { companyId: string; test: boolean }

export type KeyMode = 'live' | 'test'

const PATTERN = /^sk_(live|test)_([0-9a-z]{16})_([0-9A-Za-z]{40})$/
const ALPHABET = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'

export type ParsedKey = { mode: KeyMode; keyId: string; secret: string }

/** `sk_live_<id>_<secret>`: the id finds the row, the secret is compared. */
export function parseApiKey(text: string): ParsedKey | null {
  const match = PATTERN.exec(text)
  return match && { mode: match[1] as KeyMode, keyId: match[2]!, secret: match[3]! }
}

export function makeApiKey(
  mode: KeyMode,
  random: (size: number) => Buffer = randomBytes,
): ParsedKey & { apiKey: string } {
  const keyId = randomText(16, 36, random)
  const secret = randomText(40, 62, random)
  return { mode, keyId, secret, apiKey: `sk_${mode}_${keyId}_${secret}` }
}

/** A fast hash is enough for 238 random bits; without the pepper a stolen table cannot be used to check guesses. */
export function hashSecret(secret: string, pepper: string): Buffer {
  return createHmac('sha256', pepper).update(secret).digest()
}

export function secretMatches(secret: string, expected: Buffer, pepper: string): boolean {
  return timingSafeEqual(hashSecret(secret, pepper), expected)
}

/** Rejection sampling, so that every character is equally likely. */
function randomText(length: number, alphabetSize: number, random: (size: number) => Buffer): string {
  const limit = 256 - (256 % alphabetSize)
  let text = ''
  while (text.length < length) {
    for (const byte of random(length)) {
      if (byte < limit && text.length < length) text += ALPHABET[byte % alphabetSize]
    }
  }
  return text
}
