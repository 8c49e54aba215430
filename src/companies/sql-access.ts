import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import type pg from 'pg'
import { type Author, writeAudit } from '../audit/audit.ts'
import { inTransaction, iso, literal, type Queryable, sql } from '../platform/postgres/query.ts'

/** Sessions that a company's role may have at once, so that it leaves some to the others. */
const CONNECTION_LIMIT = 20

/** Not the company's name: every role of the server can read the names of all roles. */
export const roleNameOf = (companyId: string) => `email_gateway_${companyId.slice(-12)}`

type SqlRole = { role: string; companyId: string; verifier: string }

/** Makes the login role of a company, or gives the one that is there a new password. */
export async function createSqlAccess(pool: pg.Pool, given: SqlRole, alsoWrite = nothing): Promise<void> {
  await inTransaction(pool, async tx => {
    for (const statement of await accessStatements(tx, given)) await tx.query(statement)
    await alsoWrite(tx)
  })
}

/** What belongs to a change, in the same transaction. */
type AlsoWrite = (tx: Queryable) => Promise<void>
const nothing: AlsoWrite = async () => {}

/** The same as text, for an administrator of the server. */
async function accessStatements(db: Queryable, { role, companyId, verifier }: SqlRole): Promise<string[]> {
  const [row] = await sql<{ statements: string[] }>(db, 'sql-access-statements')`
    select array[
       format('%s role %I login connection limit ${literal(CONNECTION_LIMIT)} password %L',
         case when exists (select from pg_roles where rolname = ${role}::text) then 'alter' else 'create' end, ${role}::text, ${verifier}::text),
       format('select grant_sql_access(%L)', ${role}::text),
       format('insert into company_roles (role_name, company_id) values (%L, %L) on conflict (role_name) do update set company_id = excluded.company_id',
         ${role}::text, ${companyId}::uuid)] as statements`
  return row!.statements
}

type Revoked = { found: boolean; dropped: boolean }

/**
 * Takes the role its rights and its login, and ends its sessions; then removes it, where the server lets us. Apart from the first
 * commit, because the role may own something, in any database of the server, and would then keep its access.
 */
export async function revokeSqlAccess(
  pool: pg.Pool,
  role: string,
  mayDrop: boolean,
  alsoWrite = nothing,
): Promise<Revoked> {
  const taken = await inTransaction(pool, async tx => {
    const known = await sql(tx, 'forget-sql-role')`
      delete from company_roles where role_name = ${role} returning role_name`
    const [there] = await sql<{ lock: string; drop: string }>(tx, 'find-sql-role')`
      select format('alter role %I nologin', rolname) as lock, format('drop role %I', rolname) as drop from pg_roles where rolname = ${role}`
    if (there || known.length > 0) await alsoWrite(tx)
    if (!there) return { found: known.length > 0, drop: null }
    await sql(tx, 'revoke-sql-access')`select revoke_sql_access(${role})`
    if (mayDrop) await tx.query(there.lock)
    return { found: true, drop: there.drop }
  })
  if (taken.drop === null) return { found: taken.found, dropped: true }
  const dropped = mayDrop && (await endSessionsAndDrop(pool, role, taken.drop))
  return { found: true, dropped }
}

/** false: something depends on the role, or its sessions are not ours to end. */
async function endSessionsAndDrop(pool: pg.Pool, role: string, drop: string): Promise<boolean> {
  await pool
    .query('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [role])
    .catch(() => undefined)
  try {
    await pool.query(drop)
    return true
  } catch {
    return false
  }
}

type SqlAccess = { role: string; grantedAt: string | null; sessions: number }

/** grantedAt null: the company has no role. */
export async function readSqlAccess(db: Queryable, companyId: string): Promise<SqlAccess> {
  const role = roleNameOf(companyId)
  const [row] = await sql<Omit<SqlAccess, 'role'>>(db, 'read-sql-access')`
    select (select ${iso('created_at')} from company_roles where role_name = ${role} and company_id = ${companyId}) as "grantedAt",
       (select count(*) from pg_stat_activity where usename = ${role})::int as sessions`
  return { role, ...row! }
}

/** What keeps the owner of the database from making such a role; null: nothing. */
async function whyNoRoles(db: Queryable): Promise<'NO_CREATEROLE' | 'ANYBODY_CREATES' | null> {
  const [row] = await sql<{ mayCreateRoles: boolean; anybodyCreates: boolean }>(db, 'may-create-roles')`
    select (select rolsuper or rolcreaterole from pg_roles where rolname = current_user) as "mayCreateRoles",
       exists (select from pg_namespace n, aclexplode(n.nspacl) a
         where n.nspname = 'public' and a.grantee = 0 and a.privilege_type = 'CREATE') as "anybodyCreates"`
  if (row!.anybodyCreates) return 'ANYBODY_CREATES'
  return row!.mayCreateRoles ? null : 'NO_CREATEROLE'
}

type Granted =
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

const ITERATIONS = 4096

/**
 * What Postgres stores of a password (RFC 5803). CREATE ROLE takes it in place of the password, which then reaches neither the
 * server nor its log. For passwords in ASCII: others would have to be normalised first.
 */
export function scramVerifier(password: string, salt: Buffer = randomBytes(16)): string {
  const salted = pbkdf2Sync(password, salt, ITERATIONS, 32, 'sha256')
  const hmac = (text: string) => createHmac('sha256', salted).update(text).digest()
  const storedKey = createHash('sha256').update(hmac('Client Key')).digest('base64')
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${storedKey}:${hmac('Server Key').toString('base64')}`
}
