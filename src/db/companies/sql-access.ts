import type pg from 'pg'
import { inTransaction, type Queryable, run } from '../query.ts'

/** Sessions that a company's role may have at once, so that it leaves some to the others. */
const CONNECTION_LIMIT = 20

/** Not the company's name: every role of the server can read the names of all roles. */
export const roleNameOf = (companyId: string) => `email_gateway_${companyId.slice(-12)}`

export type SqlRole = { role: string; companyId: string; verifier: string }

/** Makes the login role of a company, or gives the one that is there a new password. */
export async function createSqlAccess(pool: pg.Pool, given: SqlRole): Promise<void> {
  await inTransaction(pool, async tx => {
    for (const statement of await accessStatements(tx, given)) await tx.query(statement)
  })
}

/** The same as text, for an administrator of the server. */
export async function accessStatements(db: Queryable, { role, companyId, verifier }: SqlRole): Promise<string[]> {
  const [row] = await run<{ statements: string[] }>(
    db,
    'sql-access-statements',
    `select array[
       format('%s role %I login connection limit ${CONNECTION_LIMIT} password %L',
         case when exists (select from pg_roles where rolname = $1) then 'alter' else 'create' end, $1::text, $3::text),
       format('select grant_sql_access(%L)', $1::text),
       format('insert into company_roles (role_name, company_id) values (%L, %L) on conflict (role_name) do update set company_id = excluded.company_id',
         $1::text, $2::uuid)] as statements`,
    [role, companyId, verifier],
  )
  return row!.statements
}

export type Revoked = { found: boolean; dropped: boolean }

/** Takes the role its rights, which ends the access of open sessions, too; then removes it, where the server lets us. */
export async function revokeSqlAccess(pool: pg.Pool, role: string, mayDrop: boolean): Promise<Revoked> {
  return inTransaction(pool, async tx => {
    const known = await run(
      tx,
      'forget-sql-role',
      'delete from company_roles where role_name = $1 returning role_name',
      [role],
    )
    const [there] = await run<{ drop: string }>(
      tx,
      'find-sql-role',
      `select format('drop role %I', rolname) as drop from pg_roles where rolname = $1`,
      [role],
    )
    if (!there) return { found: known.length > 0, dropped: true }
    await run(tx, 'revoke-sql-access', 'select revoke_sql_access($1)', [role])
    if (mayDrop) await tx.query(there.drop)
    return { found: true, dropped: mayDrop }
  })
}

/** What keeps the owner of the database from making such a role; null: nothing. */
export async function whyNoRoles(db: Queryable): Promise<'NO_CREATEROLE' | 'ANYBODY_CREATES' | null> {
  const [row] = await run<{ mayCreateRoles: boolean; anybodyCreates: boolean }>(
    db,
    'may-create-roles',
    `select (select rolsuper or rolcreaterole from pg_roles where rolname = current_user) as "mayCreateRoles",
       exists (select from pg_namespace n, aclexplode(n.nspacl) a
         where n.nspname = 'public' and a.grantee = 0 and a.privilege_type = 'CREATE') as "anybodyCreates"`,
    [],
  )
  if (row!.anybodyCreates) return 'ANYBODY_CREATES'
  return row!.mayCreateRoles ? null : 'NO_CREATEROLE'
}
