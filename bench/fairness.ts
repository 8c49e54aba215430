import { startPostgres } from './support/databases.ts'
import { spread } from './support/measure.ts'
import { runReference } from './support/reference.ts'
import { writeResults } from './support/results.ts'
import { ROUNDS } from './support/rounds.ts'

const DUMP = 100_000

type Waits = { alone: number[]; beside: number[]; perSecond: number }

const percentile = (values: number[], part: number) =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))]!

/** A quiet company beside one that has dumped a hundred thousand. */
export async function benchFairness(): Promise<void> {
  const postgres = await startPostgres()
  const rounds: Waits[] = []
  try {
    for (let round = 1; round <= ROUNDS; round++) {
      const waits = (await runReference('fairness-ours.js', {
        ENCRYPTION_KEY: 'ab'.repeat(32),
        HASH_PEPPER: 'pepper '.repeat(8),
        DATABASE_URL: await postgres.fresh(),
        REDIS_URL: '',
        WORKER_CONCURRENCY: '100',
        LOG_LEVEL: 'warn',
        JOBS: String(DUMP),
      })) as unknown as Waits
      rounds.push(waits)
      console.log(
        `round ${round}: p95 alone ${percentile(waits.alone, 0.95).toFixed(1)} ms, beside ${percentile(waits.beside, 0.95).toFixed(1)} ms (${waits.beside.length} e-mails), ${waits.perSecond.toFixed(0)}/s`,
      )
    }
  } finally {
    await postgres.close()
  }
  const of = (pick: (waits: Waits) => number) => spread(rounds.map(pick), 1)
  writeResults('fairness', [
    `One company dumped ${DUMP} e-mails, another sends ten a second; from its commit to the provider's call. Direct lane, concurrency 100, a provider that costs nothing, ${ROUNDS} rounds.`,
    '',
    '| figure | target | measured |',
    '|---|---|---|',
    `| p95 beside − p95 alone, ms | ≤ 20 | ${of(one => percentile(one.beside, 0.95) - percentile(one.alone, 0.95))} |`,
    `| drained meanwhile, e-mails per second | ≥ 8 000 | ${spread(rounds.map(one => one.perSecond))} |`,
    '',
    '| | ms |',
    '|---|---|',
    `| p50 alone | ${of(one => percentile(one.alone, 0.5))} |`,
    `| p95 alone | ${of(one => percentile(one.alone, 0.95))} |`,
    `| p50 beside | ${of(one => percentile(one.beside, 0.5))} |`,
    `| p95 beside | ${of(one => percentile(one.beside, 0.95))} |`,
  ])
}
