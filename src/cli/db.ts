import { type Answer, actionOf, type Command, reading, UsageError } from './command.ts'
import { openShell } from './db-shell.ts'

export const dbCommand: Command = {
  summary: 'a shell on the database, or its connection string',
  usage: [
    [
      'db shell [-- PSQL_ARGUMENTS]',
      'psql on the database, also on the embedded one, without its password in the list of processes',
    ],
    ['db url', 'the connection string, with the password'],
  ],
  words: Number.POSITIVE_INFINITY,
  options: {},
  run({ words: [action, ...args], values }) {
    const act = actionOf(ACTIONS, action, 'db')
    if (act === ACTIONS.shell && values.json === true) throw new UsageError('--json has no meaning here')
    if (act === ACTIONS.url && args.length > 0) throw new UsageError(`"${args[0]}" is one word too many`)
    return act(args)
  },
}

const ACTIONS: Record<'shell' | 'url', (args: string[]) => Promise<Answer>> = {
  shell: reading(({ url }, args) => openShell(url, args)),
  url: reading(async ({ url }) => ({ json: { url }, lines: [url] })),
}
