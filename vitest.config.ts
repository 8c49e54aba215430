import { chmodSync, existsSync, mkdirSync, statfsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

/**
 * Most temporary folders of the tests are databases that nobody needs afterwards. In memory, where there is room for them, they wait
 * for no disk; elsewhere, or with a TMPDIR, all is as usual.
 */
const MEMORY = '/dev/shm'
const ROOM_BYTES = 8 * 1024 ** 3
if (process.env.TMPDIR === undefined && existsSync(MEMORY) && freeBytes(MEMORY) > ROOM_BYTES) {
  process.env.TMPDIR = `${MEMORY}/email-gateway-tests`
  // As /tmp: as root, the servers run as another user. Whoever runs tests later on this machine finds it made.
  if (mkdirSync(process.env.TMPDIR, { recursive: true })) chmodSync(process.env.TMPDIR, 0o1777)
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

const fullFaults = process.env.FAULTS === 'full'

/** Tests of processes and databases wait for most of their time: one file more than there are cores. */
const maxWorkers = availableParallelism() + 1

const wholeOnStock = process.env.STOCK === 'full'

/** What depends most on the server's settings: accept, claim, lanes, leases, feedback, webhooks. It runs on both servers. */
const STOCK_FILES = [
  'outbox/accept-statement',
  'pipeline/accept/accept',
  'pipeline/claim/claim-extremes',
  'pipeline/claim/claim-oracle',
  'pipeline/claim/fair-claim',
  'pipeline/claim/lease-return-race',
  'pipeline/claim/leases',
  'pipeline/feedback/events',
  'pipeline/feedback/orders',
  'pipeline/lanes/lanes',
  'platform/schema',
  'webhooks/claim',
  'webhooks/delivery',
  'webhooks/endpoints',
].map(name => `test/${name}.test.ts`)

const databaseTests = {
  include: ['src/**/*.db.test.ts', 'test/**/*.test.ts'],
  // The schema is read with pg_dump, which only the distribution's server has.
  exclude: ['test/faults/**', 'test/platform/schema.test.ts'],
}

export default defineConfig({
  test: {
    reporters: ['default', './test/support/closing-line.ts'],
    projects: [
      {
        // Pure decisions: no database, no process, milliseconds each.
        test: {
          name: 'unit',
          setupFiles: ['./test/support/fast-check.ts'],
          include: ['src/**/*.test.ts', 'admin/src/**/*.test.ts'],
          exclude: ['src/**/*.db.test.ts'],
          maxWorkers,
          isolate: false,
          // Passwords are hashed slowly on purpose, and a busy machine makes it slower still.
          testTimeout: 30_000,
        },
      },
      {
        // One real Postgres for the run, one cloned database per file. Modules are loaded once for each worker, not once for
        // each file: that is a sixth of all the time. No test replaces a module.
        test: {
          name: 'database',
          setupFiles: ['./test/support/fast-check.ts'],
          ...databaseTests,
          maxWorkers,
          isolate: false,
          globalSetup: ['./test/support/postgres.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
      {
        // The distribution's Postgres with its default settings, as operators run it: `npm run test:stock` runs all of the
        // project above there, except for what is about the embedded server.
        test: {
          name: 'stock',
          setupFiles: ['./test/support/fast-check.ts'],
          ...(wholeOnStock
            ? { ...databaseTests, exclude: ['test/faults/**', 'src/platform/postgres/embedded/**'] }
            : { include: ['src/platform/postgres/pool.db.test.ts', ...STOCK_FILES] }),
          maxWorkers,
          isolate: false,
          globalSetup: ['./test/support/stock-setup.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
      {
        // Processes that are killed, stopped and lied to. They wait most of the time, so several of a file run at once, after
        // everything else. The full edition measures, one after the other.
        test: {
          name: 'faults',
          include: ['test/faults/**/*.test.ts'],
          globalSetup: ['./test/support/postgres.ts'],
          maxWorkers: fullFaults ? 1 : maxWorkers,
          maxConcurrency: fullFaults ? 1 : 3,
          isolate: fullFaults,
          hookTimeout: 120_000,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
