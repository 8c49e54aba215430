import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import type pg from 'pg'
import { type AuditEntry, writeAudit } from '../audit/audit.ts'

import { inTransaction, type Queryable, sql } from '../platform/postgres/query.ts'
import type { AdminRole } from '../web/access.ts'

export type AdministratorLogin = { passwordHash: string; role: AdminRole }

export async function findAdministrator(db: Queryable, name: string): Promise<AdministratorLogin | null> {
  const [row] = await sql<AdministratorLogin>(db, 'find-administrator')`
    select password_hash, role from administrators where name = ${name}`
  return row ?? null
}

/** Creates the administrator, or changes the password and, if given, the role. A change ends all of their sessions and links. */
export async function putAdministrator(
  pool: pg.Pool,
  name: string,
  passwordHash: string,
  { role, performedBy = 'gateway' }: { role?: AdminRole | undefined; performedBy?: string } = {},
): Promise<{ role: AdminRole }> {
  return inTransaction(pool, async tx => {
    const before = await lockAdministrator(tx, name)
    const after = role ?? before?.role ?? 'administrator'
    await sql(tx, 'put-administrator')`
      insert into administrators (name, password_hash, role) values (${name}, ${passwordHash}, ${after})
       on conflict (name) do update set password_hash = excluded.password_hash, role = excluded.role`
    await endSignIns(tx, name)
    const action = before ? 'PASSWORD_CHANGED' : 'ADMINISTRATOR_CREATED'
    await auditAdministrator(tx, name, { performedBy, action, before, after: { role: after } })
    return { role: after }
  })
}

/** `null`: there is no such administrator. */
export async function changeRole(
  pool: pg.Pool,
  name: string,
  role: AdminRole,
  performedBy: string,
): Promise<{ before: AdminRole } | null> {
  return inTransaction(pool, async tx => {
    const before = await lockAdministrator(tx, name)
    if (!before) return null
    if (before.role === role) return { before: role }
    await sql(tx, 'change-role')`update administrators set role = ${role} where name = ${name}`
    await endSignIns(tx, name)
    await auditAdministrator(tx, name, { performedBy, action: 'ROLE_CHANGED', before, after: { role } })
    return { before: before.role }
  })
}

export type ListedAdministrator = { name: string; role: AdminRole; sessions: number; createdAt: Date }

/** `sessions`: not yet expired; some of them may have been idle for too long. */
export async function listAdministrators(db: Queryable): Promise<ListedAdministrator[]> {
  return sql<ListedAdministrator>(db, 'list-administrators')`
    select name, role, created_at,
       (select count(*)::int from admin_sessions s where s.administrator = a.name and s.expires_at > now()) as sessions
     from administrators a order by name`
}

/** Sessions and links go with the row. */
export async function removeAdministrator(pool: pg.Pool, name: string, performedBy = 'gateway'): Promise<boolean> {
  return inTransaction(pool, async tx => {
    const [row] = await sql<{ role: AdminRole }>(tx, 'remove-administrator')`
      delete from administrators where name = ${name} returning role`
    if (!row) return false
    await auditAdministrator(tx, name, { performedBy, action: 'ADMINISTRATOR_REMOVED', before: row })
    return true
  })
}

/** `name`: whom the entry is about. */
export const auditAdministrator = (
  tx: Queryable,
  name: string,
  entry: Omit<AuditEntry, 'subjectType' | 'subjectId'>,
): Promise<void> => writeAudit(tx, { ...entry, subjectType: 'administrator', subjectId: name })

async function lockAdministrator(tx: Queryable, name: string): Promise<{ role: AdminRole } | null> {
  const [row] = await sql<{ role: AdminRole }>(tx, 'lock-administrator')`
    select role from administrators where name = ${name} for update`
  return row ?? null
}

async function endSignIns(tx: Queryable, name: string): Promise<void> {
  await sql(tx, 'end-sign-ins')`
    with links as (delete from admin_sign_in_links where administrator = ${name})
     delete from admin_sessions where administrator = ${name}`
}

const COST = { N: 32_768, r: 8, p: 1, maxmem: 64 * 1024 * 1024 }

/** Returns `scrypt$<salt>$<hash>`, both in base64. */
export async function hashPassword(password: string, salt: Buffer = randomBytes(16)): Promise<string> {
  return `scrypt$${salt.toString('base64')}$${(await derive(password, salt)).toString('base64')}`
}

export async function passwordMatches(password: string, stored: string): Promise<boolean> {
  const [, salt, hash] = stored.split('$')
  return timingSafeEqual(await derive(password, Buffer.from(salt!, 'base64')), Buffer.from(hash!, 'base64'))
}

function derive(password: string, salt: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password, salt, 32, COST, (error, key) => (error ? reject(error) : resolve(key)))
  })
}

/** Compared when the user does not exist, so that the response time does not reveal which names exist. */
export const DUMMY_PASSWORD_HASH = `scrypt$${Buffer.alloc(16).toString('base64')}$${Buffer.alloc(32).toString('base64')}`
