import { type Command, withMigratedStorage } from './command.ts'

export const migrateCommand: Command = {
  summary: 'bring the database to this version',
  usage: [['migrate', 'bring the database to this version (start does it, too)']],
  words: 0,
  options: {},
  run: () =>
    withMigratedStorage(async ({ where }, applied) => ({
      json: { migrated: true, applied, database: where },
      lines: [...(applied.length > 0 ? [`Migrations applied: ${applied.join(', ')}`] : []), `Up to date: ${where}`],
    })),
}
