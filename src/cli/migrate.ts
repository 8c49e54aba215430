import { type Command, withMigratedStorage } from './command.ts'

export const migrateCommand: Command = {
  summary: 'bring the database to this version',
  usage: [['migrate', 'bring the database to this version (start does it, too)']],
  words: 0,
  options: {},
  run: () =>
    withMigratedStorage(async ({ where }) => ({
      json: { migrated: true, database: where },
      lines: [`Up to date: ${where}`],
    })),
}
