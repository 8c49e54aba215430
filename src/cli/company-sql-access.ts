import { randomBytes } from 'node:crypto'
import { scramVerifier } from '../contracts/scram.ts'
import type { Company } from '../db/companies/companies.ts'
import {
  accessStatements,
  createSqlAccess,
  revokeSqlAccess,
  roleNameOf,
  whyNoRoles,
} from '../db/companies/sql-access.ts'
import type { Database } from '../db/pool.ts'
import { type Answer, CommandFailed } from './command.ts'
import { removeParameter } from './db-shell.ts'

/** Makes the company's database role, or gives it a new password. */
export async function grantSqlAccess(db: Database, { companyId, name }: Company, databaseUrl: string): Promise<Answer> {
  const role = roleNameOf(companyId)
  const password = randomBytes(24).toString('base64url')
  const url = urlOf(databaseUrl, role, password)
  const sqlRole = { role, companyId, verifier: scramVerifier(password) }
  const why = await whyNoRoles(db.pool)
  if (why === 'ANYBODY_CREATES')
    throw new CommandFailed(
      'Every role may create objects in the schema public, and could make the functions of the gateway call its own. First run as its owner: revoke create on schema public from public',
    )
  if (why === 'NO_CREATEROLE') {
    const sql = await accessStatements(db.pool, sqlRole)
    const intro = `This role may not create roles (CREATEROLE). Let an administrator of the server run in this database:`
    return {
      json: { companyId, name, role, password, url, created: false, sql },
      lines: [intro, '', ...sql.map(one => `${one};`), '', ...secretLines(role, password, url)],
    }
  }
  await createSqlAccess(db.pool, sqlRole)
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
export async function withdrawSqlAccess(db: Database, { companyId, name }: Company): Promise<Answer> {
  const role = roleNameOf(companyId)
  const mayDrop = (await whyNoRoles(db.pool)) !== 'NO_CREATEROLE'
  const { found, dropped } = await revokeSqlAccess(db.pool, role, mayDrop)
  if (!found) throw new CommandFailed(`${name} has no database role.`)
  const line = dropped
    ? `Removed the role ${role} of ${name}.`
    : `The role ${role} of ${name} has no access any more. It stays because it owns something or this database may not drop roles; an administrator of the server can remove it with: drop owned by ${role}; drop role ${role};`
  return { json: { companyId, name, role, removed: dropped }, lines: [line] }
}
