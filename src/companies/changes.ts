import type pg from 'pg'
import { z } from 'zod'
import { type AuditEntry, type Author, changedFields, writeAudit } from '../audit/audit.ts'
import type { Database } from '../platform/postgres/pool.ts'

import { inTransaction, iso, type Queryable, sql } from '../platform/postgres/query.ts'
import { SCOPES, type Scope } from '../web/access.ts'

import {
  type Company,
  type CompanyChange,
  findCompany,
  insertCompany,
  lockCompanies,
  setDefaultCompany,
  updateCompany,
} from './companies.ts'
import { hashSecret, insertKey, type KeyMode, makeApiKey, type Owner, revokeKey } from './keys.ts'

export type NewCompany = { name: string } & CompanyChange

/** A company with its first key. null: there is one of this name. */
export async function addCompany(
  db: Database,
  pepper: string,
  company: NewCompany,
  author: Author,
): Promise<({ company: Company } & NewKey) | null> {
  return inTransaction(db.pool, async tx => {
    await sql(tx, 'lock-company-names')`select pg_advisory_xact_lock(hashtext('companies.name'))`
    if (await findCompany(tx, company.name)) return null
    const added = await insertCompanyWithKey(tx, db, pepper, company)
    const { companyId } = added.company
    await auditCompany(tx, { ...author, companyId, action: 'COMPANY_CREATED', after: settingsOf(added.company) })
    return added
  })
}

/** Changes the given settings and no others. null: there is no such company. */
export async function changeCompany(
  pool: pg.Pool,
  companyId: string,
  { isDefault, ...change }: CompanyChange & { isDefault?: boolean | undefined },
  author: Author,
): Promise<Company | null> {
  return inTransaction(pool, async tx => {
    await lockCompanies(tx, isDefault ? null : companyId)
    const before = await findCompany(tx, companyId)
    if (!before) return null
    await updateCompany(tx, companyId, change)
    if (isDefault) await setDefaultCompany(tx, companyId)
    const after = (await findCompany(tx, companyId))!
    const changed = changedFields(settingsOf(before), settingsOf(after))
    if (changed) await auditCompany(tx, { ...author, companyId, action: 'COMPANY_CHANGED', ...changed })
    return after
  })
}

function settingsOf(company: Company) {
  const { name, fromDomains, defaultFrom, weight, ratePerSecond, retryPolicy, locale, isDefault } = company
  return { name, fromDomains, defaultFrom, weight, ratePerSecond, retryPolicy, locale, isDefault }
}

type WantedKey = { companyId: string; mode: KeyMode; scopes: Scope[]; name: string | null }

export async function issueKey(pool: pg.Pool, pepper: string, wanted: WantedKey, author: Author): Promise<NewKey> {
  return inTransaction(pool, async tx => {
    const key = await createKey(tx, pepper, wanted)
    const { companyId, ...after } = wanted
    const subject = { subjectType: 'api_key', subjectId: key.keyId, companyId } as const
    await writeAudit(tx, { ...author, ...subject, action: 'API_KEY_CREATED', after })
    return key
  })
}

/** Only a key of `owner`, when one is given. false: there is no such key, or it was revoked before. */
export async function withdrawKey(
  pool: pg.Pool,
  keyId: string,
  owner: Partial<Owner>,
  author: Author,
): Promise<boolean> {
  return inTransaction(pool, async tx => {
    const revoked = await revokeKey(tx, keyId, owner)
    if (!revoked) return false
    const { companyId, ...before } = revoked
    const subject = { subjectType: 'api_key', subjectId: keyId, companyId } as const
    await writeAudit(tx, { ...author, ...subject, action: 'API_KEY_REVOKED', before })
    return true
  })
}

type NewKey = { keyId: string; apiKey: string }

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

/** The same without an entry in the audit log: for the demo and for tests. */
export const registerCompany = (db: Database, pepper: string, company: NewCompany) =>
  inTransaction(db.pool, tx => insertCompanyWithKey(tx, db, pepper, company))

async function insertCompanyWithKey(
  tx: Queryable,
  db: Database,
  pepper: string,
  company: NewCompany,
): Promise<{ company: Company } & NewKey> {
  const created = await insertCompany(tx, { companyId: db.clock.newId(), ...company })
  return { company: created, ...(await createKey(tx, pepper, { companyId: created.companyId })) }
}

type CompanyEntry = Omit<AuditEntry, 'subjectType' | 'subjectId'> & { companyId: string }

export const auditCompany = (tx: Queryable, entry: CompanyEntry): Promise<void> =>
  writeAudit(tx, { after: {}, ...entry, subjectType: 'company', subjectId: entry.companyId })

export const companyAuditSchema = z
  .object({
    id: z.int(),
    action: z.string(),
    subjectType: z.string(),
    subjectId: z.string(),
    reason: z.string().nullable(),
    performedBy: z.string(),
    performedAt: z.iso.datetime(),
    before: z.record(z.string(), z.unknown()).nullable(),
    after: z.record(z.string(), z.unknown()).nullable(),
  })
  .meta({ id: 'CompanyAudit' })
type CompanyAuditRow = z.output<typeof companyAuditSchema>

/** Of the company, its keys, webhooks and templates; newest first, older than `beforeId`. */
export async function listCompanyAudit(
  db: Queryable,
  companyId: string,
  { beforeId = null, limit = 100 }: { beforeId?: number | null; limit?: number } = {},
): Promise<CompanyAuditRow[]> {
  return sql<CompanyAuditRow>(db, 'list-company-audit')`
    select id::float8 as id, action, subject_type, subject_id, reason, performed_by,
       before, after, ${iso('performed_at')} as "performedAt"
     from audit_log where company_id = ${companyId} and (${beforeId}::bigint is null or id < ${beforeId}::bigint) order by id desc limit ${limit}`
}
