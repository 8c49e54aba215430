import { type Answer, actionOf, type Command, reading, UsageError } from './command.ts'
import { openShell } from './db-shell.ts'

export const dbCommand: Command = {
  usage: [
    [
      'db shell [-- PSQL_ARGUMENTS]',
      'open psql on the database, also the embedded one; the password is not visible in the process list',
    ],
    ['db url', 'the connection string, with the password'],
  ],
  words: { shell: Number.POSITIVE_INFINITY, url: 0 },
  options: {},
  run({ words: [action, ...args], values }) {
    const act = actionOf(ACTIONS, action, 'db')
    if (act === ACTIONS.shell && values.json === true) throw new UsageError('--json cannot be used here')
    return act(args)
  },
}

const ACTIONS: Record<'shell' | 'url', (args: string[]) => Promise<Answer>> = {
  shell: reading(({ url }, args) => openShell(url, args)),
  url: reading(async ({ url }) => ({ json: { url }, lines: [url] })),
}
