import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { iso, type Queryable, sql } from '../platform/postgres/query.ts'
import type { RetryPolicyName } from '../settings/retry.ts'
import { SCOPES, type Scope } from '../web/access.ts'

/** The key and the settings of its company that a request needs, in one row. */
export type KnownKey = {
  keyId: string
  companyId: string
  companyName: string
  mode: 'live' | 'test'
  secretHash: Buffer
  scopes: Scope[]
  revoked: boolean
  fromDomains: string[]
  defaultFrom: string | null
  ratePerSecond: number | null
  retryPolicy: RetryPolicyName | null
}

export async function findKeys(db: Queryable, keyIds: string[]): Promise<KnownKey[]> {
  return sql<KnownKey>(db, 'find-api-keys')`
    select k.key_id, k.company_id, c.name as "companyName", k.mode, k.secret_hash,
       k.scopes, k.revoked_at is not null as revoked, c.from_domains, c.default_from,
       c.rate_per_second, c.retry_policy
     from api_keys k join companies c using (company_id) where k.key_id = any(${keyIds})`
}

export async function countActiveKeys(db: Queryable, companyId: string): Promise<number> {
  const [row] = await sql<{ count: number }>(db, 'count-active-keys')`
    select count(*)::int as count from api_keys where company_id = ${companyId} and revoked_at is null`
  return row!.count
}

export async function insertKey(
  db: Queryable,
  key: { keyId: string; companyId: string; mode: KeyMode; secretHash: Buffer; scopes: Scope[]; name: string | null },
): Promise<void> {
  await sql(db, 'insert-api-key')`
    insert into api_keys (key_id, company_id, mode, secret_hash, scopes, name) values (${key.keyId}, ${key.companyId}, ${key.mode}, ${key.secretHash}, ${key.scopes}, ${key.name})`
}

export const apiKeySchema = z
  .object({
    keyId: z.string(),
    mode: z.enum(['live', 'test']),
    scopes: z.array(z.enum(SCOPES)),
    name: z.string().nullable(),
    createdAt: z.iso.datetime(),
    lastUsedAt: z.iso.datetime().nullable(),
    revokedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'ApiKey' })
export type KeyListing = z.output<typeof apiKeySchema> & { companyId: string; companyName: string }

export async function listKeys(db: Queryable, companyId: string | null): Promise<KeyListing[]> {
  return sql<KeyListing>(db, 'list-api-keys')`
    select k.key_id, k.company_id, c.name as "companyName", k.mode, k.scopes, k.name,
       ${iso('k.created_at')} as "createdAt", ${iso('k.last_used_at')} as "lastUsedAt", ${iso('k.revoked_at')} as "revokedAt"
     from api_keys k join companies c using (company_id) where ${companyId}::uuid is null or k.company_id = ${companyId}::uuid order by k.created_at`
}

type RevokedKey = Pick<KeyListing, 'companyId' | 'mode' | 'scopes' | 'name'>

/** Only a key of `owner`, as far as it is given. null: there is no such key, or it was revoked before. */
export async function revokeKey(db: Queryable, keyId: string, owner: Partial<Owner> = {}): Promise<RevokedKey | null> {
  const mode = owner.test === undefined ? null : owner.test ? 'test' : 'live'
  const [row] = await sql<RevokedKey>(db, 'revoke-api-key')`
    update api_keys set revoked_at = now()
     where key_id = ${keyId} and revoked_at is null
       and (${owner.companyId ?? null}::uuid is null or company_id = ${owner.companyId ?? null}::uuid) and (${mode}::text is null or mode = ${mode}::text)
     returning company_id, mode, scopes, name`
  return row ?? null
}

/** Whether there is a key of this id, also one that was revoked. */
export async function keyExists(db: Queryable, keyId: string): Promise<boolean> {
  const rows = await sql(db, 'key-exists')`select 1 as one from api_keys where key_id = ${keyId}`
  return rows.length > 0
}

/** Called periodically with all keys used since the last call, not once per request. */
export async function touchKeys(db: Queryable, keyIds: string[]): Promise<void> {
  await sql(db, 'touch-api-keys')`update api_keys set last_used_at = now() where key_id = any(${keyIds})`
}

/** Every row that an API key reads or changes belongs to one company and one mode (live or test). */
export type Owner = { companyId: string; test: boolean }

export type KeyMode = 'live' | 'test'

const PATTERN = /^sk_(live|test)_([0-9a-z]{16})_([0-9A-Za-z]{40})$/
const ALPHABET = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'

type ParsedKey = { mode: KeyMode; keyId: string; secret: string }

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
