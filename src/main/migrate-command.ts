import { type Command, withMigratedStorage } from '../console/command.ts'

export const migrateCommand: Command = {
  usage: [['migrate', 'create the database if needed and apply all migrations (start does this, too)']],
  words: 0,
  options: {},
  run: () =>
    withMigratedStorage(async ({ where }, applied) => ({
      json: { migrated: true, applied, database: where },
      lines: [...(applied.length > 0 ? [`Migrations applied: ${applied.join(', ')}`] : []), `Up to date: ${where}`],
    })),
}
