import type { Company } from '../db/companies/companies.ts'
import { grantSqlAccess, withdrawSqlAccess } from '../db/companies/sql-access-changes.ts'
import type { Database } from '../db/pool.ts'
import { type Answer, CommandFailed, notFound } from './command.ts'
import { removeParameter } from './db-shell.ts'

/** Makes the company's database role, or gives it a new password. */
export async function giveSqlAccess(
  db: Database,
  { companyId, name }: Company,
  performedBy: string,
  databaseUrl: string,
): Promise<Answer> {
  const granted = await grantSqlAccess(db.pool, companyId, { performedBy })
  if (granted.kind === 'unsafe') throw new CommandFailed(granted.message, 'SQL_ACCESS_UNSAFE')
  const { role, password } = granted
  const url = urlOf(databaseUrl, role, password)
  if (granted.kind === 'statements') {
    const { statements: sql } = granted
    const intro = `This role may not create roles (CREATEROLE). Let an administrator of the server run in this database:`
    return {
      json: { companyId, name, role, password, url, created: false, sql },
      lines: [intro, '', ...sql.map(one => `${one};`), '', ...secretLines(role, password, url)],
    }
  }
  return {
    json: { companyId, name, role, password, url, created: true },
    lines: [`${name} may use the database as this role. See docs/sql.md.`, ...secretLines(role, password, url)],
  }
}

/** Of the same server and database, as this role. */
function urlOf(databaseUrl: string, role: string, password: string): string {
  const url = new URL(databaseUrl)
  for (const name of ['user', 'password']) removeParameter(url, name)
  url.username = role
  url.password = password
  return url.href
}

const secretLines = (role: string, password: string, url: string) => [
  `Role     ${role}`,
  `Password ${password}`,
  `URL      ${url}`,
  'The password is shown only this once; run the command again for another one.',
]

/** Removes the company's database role. Without CREATEROLE it stays, and may do nothing. */
export async function removeSqlAccess(
  db: Database,
  { companyId, name }: Company,
  performedBy: string,
): Promise<Answer> {
  const { role, found, dropped } = await withdrawSqlAccess(db.pool, companyId, { performedBy })
  if (!found) throw notFound(`${name} has no database role.`)
  const line = dropped
    ? `Removed the role ${role} of ${name}.`
    : `The role ${role} of ${name} has no access any more. It stays because it owns something or this database may not drop roles; an administrator of the server can remove it with: drop owned by ${role}; drop role ${role};`
  return { json: { companyId, name, role, removed: dropped }, lines: [line] }
}
