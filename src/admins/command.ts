import { randomBytes } from 'node:crypto'
import { command, notFound, type Opened, operator, option, UsageError, word } from '../console/command.ts'
import { counted } from '../console/words.ts'
import type { Queryable } from '../platform/postgres/query.ts'
import type { Config } from '../settings/config.ts'
import { readInUse } from '../settings/processes.ts'
import { type AdminRole, isAdminRole } from '../web/access.ts'
import {
  changeRole,
  hashPassword,
  type ListedAdministrator,
  listAdministrators,
  putAdministrator,
  removeAdministrator,
} from './administrators.ts'
import { makeSignInLink, signInUrl } from './sessions.ts'

const ROLES_TEXT = 'viewer, support or administrator'

const options = {
  role: option.parsed('ROLE', `${ROLES_TEXT} (the default of a new one)`, parseRole),
  yes: option.flag('add, role and remove: also of the last one who may do everything'),
}

const notes = [
  'A viewer sees everything with masked addresses and changes nothing. Support may change what concerns e-mails and the suppression',
  'list. An administrator may do everything. A new password, another role and a removal end all sessions of the administrator.',
]

export const adminCommand = command({ name: 'admin', options, notes }, action => ({
  add: action(
    {
      words: [word('NAME', parseNewName)],
      form: '[--role ROLE] [--yes]',
      what: 'create an administrator, or give an existing one a new password; the password is shown only once',
      options: ['role', 'yes'],
      opens: 'writing',
    },
    async ({ words: [name], options: { role, yes } }, opened) => {
      if (!yes) await refuseToDemoteLast(opened, name, role)
      const password = randomBytes(15).toString('base64url')
      const hash = await hashPassword(password)
      const put = await putAdministrator(opened.db.pool, name, hash, { role, performedBy: operator() })
      return {
        json: { name, role: put.role, password },
        lines: [
          `Administrator ${name}`,
          `Role ${put.role}`,
          `Password ${password}`,
          'The password is shown only this once.',
        ],
      }
    },
  ),

  role: action(
    {
      words: ['NAME', word('ROLE', parseRole)],
      form: '[--yes]',
      what: 'change what an administrator may do',
      options: ['yes'],
      opens: 'writing',
    },
    async ({ words: [name, role], options: { yes } }, opened) => {
      if (!yes) await refuseToDemoteLast(opened, name, role)
      const changed = await changeRole(opened.db.pool, name, role, operator())
      if (!changed) throw noAdministrator(name)
      const line = `${name} has the role ${role} ${changed.before === role ? 'already' : 'now'}.`
      return { json: { name, role, before: changed.before }, lines: [line] }
    },
  ),

  list: action(
    { what: 'all administrators, their roles and how many sessions they have open', opens: 'reading' },
    async (_, { db }) => {
      const all = await listAdministrators(db.pool)
      return { json: { data: all }, lines: all.length > 0 ? all.map(lineOf) : ['No administrators.'] }
    },
  ),

  link: action(
    { words: ['NAME'], what: 'a link that signs this administrator in once, within an hour', opens: 'writing' },
    async ({ words: [name] }, { db, config }) => {
      const token = await makeSignInLink(db.pool, name, operator())
      if (!token) throw noAdministrator(name)
      const url = signInUrl(await gatewayUrl(db.pool, config), token)
      return { json: { name, url }, lines: [url, `It signs ${name} in once, within an hour.`] }
    },
  ),

  remove: action(
    {
      words: ['NAME'],
      form: '[--yes]',
      what: 'remove an administrator; the last one only with --yes',
      options: ['yes'],
      opens: 'writing',
    },
    async ({ words: [name], options: { yes } }, opened) => {
      const consequence = await consequenceOfLosing(opened, name, true)
      if (consequence && !yes)
        throw new UsageError(`${name} is ${LAST}: without it, ${consequence} Add --yes to remove it`)
      if (!(await removeAdministrator(opened.db.pool, name, operator()))) throw noAdministrator(name)
      return {
        json: { name, removed: true },
        lines: [`Administrator ${name} is removed.`, ...(consequence ? [`It was ${LAST}: ${consequence}`] : [])],
      }
    },
  ),
}))

function parseNewName(name: string): string {
  if (/^[^:\s]{1,64}$/.test(name)) return name
  throw new UsageError('NAME must have 1 to 64 characters, without spaces and colons')
}

function parseRole(given: string): AdminRole {
  if (isAdminRole(given)) return given
  throw new UsageError(`the role must be ${ROLES_TEXT}, not "${given}"`)
}

const LAST = 'the last one with the role administrator'

async function refuseToDemoteLast(opened: Opened, name: string, role: AdminRole | undefined): Promise<void> {
  if (role === undefined || role === 'administrator') return
  const consequence = await consequenceOfLosing(opened, name, false)
  if (consequence) throw new UsageError(`${name} is ${LAST}: without it, ${consequence} Add --yes to change the role`)
}

/** What follows when `name` is an administrator no more; null when somebody else is one, or `name` is none. */
async function consequenceOfLosing(
  { db, config, onlyGateway }: Opened,
  name: string,
  removed: boolean,
): Promise<string | null> {
  const all = await listAdministrators(db.pool)
  const administrators = all.filter(one => one.role === 'administrator')
  if (administrators.length !== 1 || administrators[0]!.name !== name) return null
  if (removed && all.length === 1 && onlyGateway)
    return `the next start makes ${config.ADMIN_USER} with a new password.`
  return `nobody manages companies and keys in the admin UI until you run: email-gateway admin add NAME.`
}

const lineOf = ({ name, role, sessions, createdAt }: ListedAdministrator) =>
  `${name}  ${role}  ${counted(sessions, 'open session')}  since ${createdAt.toISOString()}`

/** As the running gateway is reached from here. */
async function gatewayUrl(db: Queryable, config: Config): Promise<string> {
  const { settings } = await readInUse(db, config)
  const { PUBLIC_URL, HOST = config.HOST, PORT = config.PORT } = settings
  const host = HOST === '0.0.0.0' || HOST === '::' ? 'localhost' : HOST.includes(':') ? `[${HOST}]` : HOST
  return PUBLIC_URL ?? `http://${host}:${PORT}`
}

const noAdministrator = (name: string) => notFound(`There is no administrator "${name}".`)
