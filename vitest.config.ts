import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    reporters: ['default', './test/support/closing-line.ts'],
    projects: [
      {
        // Pure decisions: no database, no process, milliseconds each.
        test: { name: 'unit', include: ['src/**/*.test.ts'], exclude: ['src/**/*.db.test.ts'] },
      },
      {
        // One real Postgres for the run, one cloned database per file.
        test: {
          name: 'database',
          include: ['src/**/*.db.test.ts', 'test/**/*.test.ts'],
          globalSetup: ['./test/support/postgres.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
