import { openShell } from '../companies/command.ts'
import { command, UsageError, withMigratedStorage } from '../console/command.ts'
import { listProcesses } from '../settings/processes.ts'

export const migrateCommand = command({ name: 'migrate', options: {} }, action =>
  action(
    { what: 'create the database if needed and apply all migrations (start does this, too)', opens: 'nothing' },
    () =>
      withMigratedStorage(async ({ where }, applied) => ({
        json: { migrated: true, applied, database: where },
        lines: [...(applied.length > 0 ? [`Migrations applied: ${applied.join(', ')}`] : []), `Up to date: ${where}`],
      })),
  ),
)

const STOPPED =
  'The gateway is stopped, and its database with it: this address refuses connections until email-gateway start runs.'

export const dbCommand = command({ name: 'db', options: {} }, action => ({
  shell: action(
    {
      words: ['[-- PSQL_ARGUMENTS]'],
      what: 'open psql on the database, also the embedded one; the password is not visible in the process list',
      opens: 'reading',
      check({ words, json }) {
        if (json || words.includes('--json'))
          throw new UsageError('--json cannot be used with db shell: psql has no such option, and prints for people')
      },
    },
    ({ words }, { url }) => openShell(url, words),
  ),

  url: action(
    { what: 'the connection string, with the password', opens: 'reading' },
    async (_input, { url, onlyGateway, db }) => {
      // The embedded server that this command has started stops with it.
      const isStopped = onlyGateway && (await listProcesses(db.pool)).length === 0
      return { json: { url }, lines: [url], warning: isStopped ? STOPPED : null }
    },
  ),
}))
