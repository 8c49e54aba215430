import { randomBytes } from 'node:crypto'
import {
  type Answer,
  actionOf,
  type Command,
  notFound,
  type Opened,
  operator,
  reading,
  required,
  text,
  UsageError,
  writing,
} from '../console/command.ts'
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
import { makeSignInLink, signInUrl } from './sign-in-links.ts'

const ROLES_TEXT = 'viewer, support or administrator'

export const adminCommand: Command = {
  usage: [
    [
      'admin add NAME [--role ROLE] [--yes]',
      'create an administrator, or give an existing one a new password; the password is shown only once',
    ],
    ['admin role NAME ROLE [--yes]', 'change what an administrator may do'],
    ['admin list', 'all administrators, their roles and how many sessions they have open'],
    ['admin link NAME', 'a link that signs this administrator in once, within an hour'],
    ['admin remove NAME [--yes]', 'remove an administrator; the last one only with --yes'],
  ],
  notes: [
    'A viewer sees everything with masked addresses and changes nothing. Support may change what concerns e-mails and the suppression',
    'list. An administrator may do everything. A new password, another role and a removal end all sessions of the administrator.',
  ],
  words: { add: 1, role: 2, list: 0, link: 1, remove: 1 },
  options: {
    role: { type: 'string', value: 'ROLE', help: `${ROLES_TEXT} (the default of a new one)`, actions: ['add'] },
    yes: {
      type: 'boolean',
      help: 'add, role and remove: also of the last one who may do everything',
      actions: ['add', 'role', 'remove'],
    },
  },
  run({ words: [action, name, role], values }) {
    const act = actionOf(ACTIONS, action, 'admin')
    return act(name, act === ACTIONS.role ? required(role, 'ROLE') : text(values, 'role'), values.yes === true)
  },
}

type Action = (name: string | undefined, role: string | undefined, yes: boolean) => Promise<Answer>

const ACTIONS: Record<'add' | 'role' | 'list' | 'link' | 'remove', Action> = {
  async add(given, role, yes) {
    return add(nameOf(given), roleOf(role), yes)
  },
  async role(given, role, yes) {
    return setRole(required(given, 'NAME'), roleOf(role)!, yes)
  },
  list: reading(async ({ db }) => {
    const all = await listAdministrators(db.pool)
    return { json: { data: all }, lines: all.length > 0 ? all.map(lineOf) : ['No administrators.'] }
  }),
  link: writing(async ({ db, config }, given) => {
    const name = required(given, 'NAME')
    const token = await makeSignInLink(db.pool, name, operator())
    if (!token) throw noAdministrator(name)
    const url = signInUrl(await gatewayUrl(db.pool, config), token)
    return { json: { name, url }, lines: [url, `It signs ${name} in once, within an hour.`] }
  }),
  remove: writing(async (opened, given, _role, yes) => {
    const name = required(given, 'NAME')
    const { db } = opened
    const consequence = await consequenceOfLosing(opened, name, true)
    if (consequence && !yes)
      throw new UsageError(`${name} is ${LAST}: without it, ${consequence} Add --yes to remove it`)
    if (!(await removeAdministrator(db.pool, name, operator()))) throw noAdministrator(name)
    return {
      json: { name, removed: true },
      lines: [`Administrator ${name} is removed.`, ...(consequence ? [`It was ${LAST}: ${consequence}`] : [])],
    }
  }),
}

const add = writing(async (opened, name: string, role: AdminRole | undefined, yes: boolean) => {
  const { db } = opened
  if (!yes) await refuseToDemoteLast(opened, name, role)
  const password = randomBytes(15).toString('base64url')
  const hash = await hashPassword(password)
  const put = await putAdministrator(db.pool, name, hash, { role, performedBy: operator() })
  return {
    json: { name, role: put.role, password },
    lines: [
      `Administrator ${name}`,
      `Role ${put.role}`,
      `Password ${password}`,
      'The password is shown only this once.',
    ],
  }
})

const setRole = writing(async (opened, name: string, role: AdminRole, yes: boolean) => {
  const { db } = opened
  if (!yes) await refuseToDemoteLast(opened, name, role)
  const changed = await changeRole(db.pool, name, role, operator())
  if (!changed) throw noAdministrator(name)
  const line = changed.before === role ? `${name} has the role ${role} already.` : `${name} has the role ${role} now.`
  return { json: { name, role, before: changed.before }, lines: [line] }
})

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

function nameOf(given: string | undefined): string {
  const name = required(given, 'NAME')
  if (!/^[^:\s]{1,64}$/.test(name)) throw new UsageError('NAME must have 1 to 64 characters, without spaces and colons')
  return name
}

function roleOf(given: string | undefined): AdminRole | undefined {
  if (given === undefined || isAdminRole(given)) return given
  throw new UsageError(`the role must be ${ROLES_TEXT}, not "${given}"`)
}

/** As the running gateway is reached from here. */
async function gatewayUrl(db: Queryable, config: Config): Promise<string> {
  const { settings } = await readInUse(db, config)
  const { PUBLIC_URL, HOST = config.HOST, PORT = config.PORT } = settings
  const host = HOST === '0.0.0.0' || HOST === '::' ? 'localhost' : HOST.includes(':') ? `[${HOST}]` : HOST
  return PUBLIC_URL ?? `http://${host}:${PORT}`
}

const noAdministrator = (name: string) => notFound(`There is no administrator "${name}".`)
