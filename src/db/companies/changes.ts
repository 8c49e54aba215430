import type pg from 'pg'
import type { KeyMode, Owner, Scope } from '../../contracts/api-key.ts'
import { writeAudit } from '../audit.ts'
import { type Author, changedFields } from '../audited-change.ts'
import type { Database } from '../pool.ts'
import { inTransaction, run } from '../query.ts'
import { revokeKey } from './api-keys.ts'
import { auditCompany } from './audit.ts'
import {
  type Company,
  type CompanyChange,
  findCompany,
  insertCompany,
  lockCompanies,
  setDefaultCompany,
  updateCompany,
} from './companies.ts'
import { createKey, type NewKey } from './registration.ts'

export type NewCompany = { name: string } & CompanyChange

/** A company with its first key. null: there is one of this name. */
export async function addCompany(
  db: Database,
  pepper: string,
  company: NewCompany,
  author: Author,
): Promise<({ company: Company } & NewKey) | null> {
  return inTransaction(db.pool, async tx => {
    await run(tx, 'lock-company-names', `select pg_advisory_xact_lock(hashtext('companies.name'))`, [])
    if (await findCompany(tx, company.name)) return null
    const created = await insertCompany(tx, { companyId: db.clock.newId(), ...company })
    const { companyId } = created
    const key = await createKey(tx, pepper, { companyId })
    await auditCompany(tx, { ...author, companyId, action: 'COMPANY_CREATED', metadata: settingsOf(created) })
    return { company: created, ...key }
  })
}

/** Changes the given settings and no others. null: there is no such company. */
export async function changeCompany(
  pool: pg.Pool,
  companyId: string,
  { isDefault, ...change }: CompanyChange & { isDefault?: true | undefined },
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
    if (changed)
      await auditCompany(tx, {
        ...author,
        companyId,
        action: 'COMPANY_CHANGED',
        before: changed.before,
        metadata: changed.after,
      })
    return after
  })
}

function settingsOf(company: Company) {
  const { name, fromDomains, defaultFrom, weight, ratePerSecond, retryPolicy, locale, isDefault } = company
  return { name, fromDomains, defaultFrom, weight, ratePerSecond, retryPolicy, locale, isDefault }
}

export type WantedKey = { companyId: string; mode: KeyMode; scopes: Scope[]; name: string | null }

export async function issueKey(pool: pg.Pool, pepper: string, wanted: WantedKey, author: Author): Promise<NewKey> {
  return inTransaction(pool, async tx => {
    const key = await createKey(tx, pepper, wanted)
    const { companyId, ...after } = wanted
    await writeAudit(tx, {
      ...author,
      subjectType: 'api_key',
      subjectId: key.keyId,
      companyId,
      action: 'API_KEY_CREATED',
      after,
    })
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
    await writeAudit(tx, {
      ...author,
      subjectType: 'api_key',
      subjectId: keyId,
      companyId,
      action: 'API_KEY_REVOKED',
      before,
    })
    return true
  })
}
