import { hashSecret, type KeyMode, makeApiKey, SCOPES, type Scope } from '../../contracts/api-key.ts'
import type { Database } from '../pool.ts'
import { inTransaction, type Queryable } from '../query.ts'
import { insertKey } from './api-keys.ts'
import { type Company, type CompanyChange, insertCompany } from './companies.ts'

export type NewKey = { keyId: string; apiKey: string }

/** The only time the key is readable: the database stores its keyed hash. */
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

/** Creates a company and its first key in one transaction. */
export async function registerCompany(
  db: Database,
  pepper: string,
  company: { name: string } & CompanyChange,
): Promise<{ company: Company; apiKey: string; keyId: string }> {
  return inTransaction(db.pool, async tx => {
    const created = await insertCompany(tx, { companyId: db.clock.newId(), ...company })
    const key = await createKey(tx, pepper, { companyId: created.companyId })
    return { company: created, ...key }
  })
}
