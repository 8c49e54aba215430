import { hashSecret, type KeyMode, makeApiKey, SCOPES, type Scope } from '../contracts/api-key.ts'
import { uuidv7 } from '../contracts/uuid.ts'
import { insertKey } from './api-keys.ts'
import { type Company, type CompanyChange, insertCompany } from './companies.ts'
import type { Database, Queryable } from './pool.ts'

export type NewKey = { keyId: string; apiKey: string }

/** The key is shown once, here; the database keeps only its keyed hash. */
export async function createKey(
  db: Queryable,
  pepper: string,
  key: { companyId: string; mode?: KeyMode; scopes?: Scope[]; name?: string | null },
): Promise<NewKey> {
  const made = makeApiKey(key.mode ?? 'live')
  await insertKey(db, {
    keyId: made.keyId,
    companyId: key.companyId,
    mode: made.mode,
    secretHash: hashSecret(made.secret, pepper),
    scopes: key.scopes ?? [...SCOPES],
    name: key.name ?? null,
  })
  return { keyId: made.keyId, apiKey: made.apiKey }
}

/** A company with its first key, or neither. */
export async function registerCompany(
  db: Database,
  pepper: string,
  company: { name: string } & CompanyChange,
): Promise<{ company: Company; apiKey: string; keyId: string }> {
  const client = await db.pool.connect()
  try {
    await client.query('begin')
    const created = await insertCompany(client, { companyId: uuidv7(), ...company })
    const key = await createKey(client, pepper, { companyId: created.companyId })
    await client.query('commit')
    client.release()
    return { company: created, ...key }
  } catch (error) {
    await client.query('rollback').catch(() => {})
    client.release()
    throw error
  }
}
