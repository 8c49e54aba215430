import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import { scramVerifier } from '../../contracts/scram.ts'
import { writeAudit } from '../audit.ts'
import type { Author } from '../audited-change.ts'
import type { Queryable } from '../query.ts'
import {
  accessStatements,
  createSqlAccess,
  type Revoked,
  revokeSqlAccess,
  roleNameOf,
  whyNoRoles,
} from './sql-access.ts'

export type Granted =
  | { kind: 'granted'; role: string; password: string }
  /** The gateway may not create roles: an administrator of the server runs these statements. */
  | { kind: 'statements'; role: string; password: string; statements: string[] }
  | { kind: 'unsafe'; message: string }

const SCHEMA_PUBLIC_IS_OPEN =
  'Every role may create objects in the schema public, and could make the functions of the gateway call its own. First run as its owner: revoke create on schema public from public'

/** Makes the login role of a company, or gives the one that is there a new password. */
export async function grantSqlAccess(pool: pg.Pool, companyId: string, author: Author): Promise<Granted> {
  const role = roleNameOf(companyId)
  const password = randomBytes(24).toString('base64url')
  const wanted = { role, companyId, verifier: scramVerifier(password) }
  const why = await whyNoRoles(pool)
  if (why === 'ANYBODY_CREATES') return { kind: 'unsafe', message: SCHEMA_PUBLIC_IS_OPEN }
  if (why === 'NO_CREATEROLE')
    return { kind: 'statements', role, password, statements: await accessStatements(pool, wanted) }
  await createSqlAccess(pool, wanted, audit(companyId, author, 'SQL_ACCESS_GRANTED'))
  return { kind: 'granted', role, password }
}

/** Without CREATEROLE the role stays, and may do nothing. */
export async function withdrawSqlAccess(
  pool: pg.Pool,
  companyId: string,
  author: Author,
): Promise<Revoked & { role: string }> {
  const role = roleNameOf(companyId)
  const mayDrop = (await whyNoRoles(pool)) !== 'NO_CREATEROLE'
  const revoked = await revokeSqlAccess(pool, role, mayDrop, audit(companyId, author, 'SQL_ACCESS_REVOKED'))
  return { ...revoked, role }
}

function audit(companyId: string, author: Author, action: 'SQL_ACCESS_GRANTED' | 'SQL_ACCESS_REVOKED') {
  const role = roleNameOf(companyId)
  const [before, after] = action === 'SQL_ACCESS_GRANTED' ? [null, { role }] : [{ role }, null]
  return (tx: Queryable) =>
    writeAudit(tx, { ...author, subjectType: 'sql_access', subjectId: role, companyId, action, before, after })
}
