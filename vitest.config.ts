import { defineConfig } from 'vitest/config'

const fullFaults = process.env.FAULTS === 'full'

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
        // once, after everything else. The full edition measures, one after the other.
        test: {
          name: 'faults',
          include: ['test/faults/**/*.test.ts'],
          globalSetup: ['./test/support/postgres.ts'],
          maxWorkers: fullFaults ? 1 : 3,
          maxConcurrency: fullFaults ? 1 : 3,
          hookTimeout: 120_000,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
