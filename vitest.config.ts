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
          exclude: ['test/faults/**'],
          globalSetup: ['./test/support/postgres.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
      {
        // Processes that are killed, stopped and lied to. They wait most of the time, so more of them than cores run at
        // once, after everything else.
        test: {
          name: 'faults',
          include: ['test/faults/**/*.test.ts'],
          globalSetup: ['./test/support/postgres.ts'],
          maxWorkers: 4,
          maxConcurrency: 4,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
