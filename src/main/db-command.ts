import { openShell } from '../companies/command.ts'
import { type Answer, actionOf, type Command, reading, UsageError } from '../console/command.ts'
import { listProcesses } from '../settings/processes.ts'

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
    if (act === ACTIONS.shell && (values.json === true || args.includes('--json')))
      throw new UsageError('--json cannot be used with db shell: psql has no such option, and prints for people')
    return act(args)
  },
}

const STOPPED =
  'The gateway is stopped, and its database with it: this address refuses connections until email-gateway start runs.'

const ACTIONS: Record<'shell' | 'url', (args: string[]) => Promise<Answer>> = {
  shell: reading(({ url }, args) => openShell(url, args)),
  url: reading(async ({ url, onlyGateway, db }) => {
    // The embedded server that this command has started stops with it.
    const isStopped = onlyGateway && (await listProcesses(db.pool)).length === 0
    return { json: { url }, lines: [url], warning: isStopped ? STOPPED : null }
  }),
}
