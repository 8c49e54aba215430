import { randomBytes } from 'node:crypto'
import { hashPassword } from '../contracts/password.ts'
import { listAdministrators, putAdministrator, removeAdministrator } from '../db/companies/administrators.ts'
import {
  type Answer,
  actionOf,
  type Command,
  CommandFailed,
  reading,
  required,
  UsageError,
  writing,
} from './command.ts'

export const adminCommand: Command = {
  usage: [
    [
      'admin add NAME',
      'create an administrator, or give an existing one a new password; the password is shown only once',
    ],
    ['admin list', 'all administrators'],
    ['admin remove NAME', 'remove an administrator'],
  ],
  words: 2,
  options: {},
  run({ words: [action, name] }) {
    const act = actionOf(ACTIONS, action, 'admin')
    return act(name)
  },
}

const lineOf = ({ name, createdAt }: { name: string; createdAt: Date }) => `${name}  since ${createdAt.toISOString()}`

const ACTIONS: Record<'add' | 'list' | 'remove', (name: string | undefined) => Promise<Answer>> = {
  add: writing(async ({ db }, given) => {
    const name = required(given, 'NAME')
    if (!/^[^:\s]{1,64}$/.test(name))
      throw new UsageError('NAME must have 1 to 64 characters, without spaces and colons')
    const password = randomBytes(15).toString('base64url')
    await putAdministrator(db.pool, name, await hashPassword(password))
    return {
      json: { name, password },
      lines: [`Administrator ${name}`, `Password ${password}`, 'The password is shown only this once.'],
    }
  }),
  list: reading(async ({ db }) => {
    const all = await listAdministrators(db.pool)
    return { json: { data: all }, lines: all.length > 0 ? all.map(lineOf) : ['No administrators.'] }
  }),
  remove: writing(async ({ db }, given) => {
    const name = required(given, 'NAME')
    if (!(await removeAdministrator(db.pool, name))) throw new CommandFailed(`There is no administrator "${name}".`)
    return { json: { name, removed: true }, lines: [`Administrator ${name} is removed.`] }
  }),
}
