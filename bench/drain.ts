import { type BenchPostgres, startPostgres, startStockPostgres } from './support/databases.ts'
import { startRedis } from './support/processes.ts'
import { perSecond, runReference } from './support/reference.ts'
import { writeResults } from './support/results.ts'
import { absoluteTable, type Figures, interleave, RATIO_HEAD, ROUNDS, ratioRow } from './support/rounds.ts'

const JOBS = 20_000
const SUSTAINED_JOBS = 150_000
const SUSTAINED_ROUNDS = Math.min(3, ROUNDS)
/** A tenth of the others' speed: as many jobs would take ten times as long, and say no more. */
const SEED_JOBS = 5_000
/** Done before, by the same worker, and not counted: one that runs for months has its code compiled. */
const warmUpJobs = (jobs: number) => String(Math.min(JOBS, jobs))

const HOW = `Concurrency 100, ten companies, a provider that costs nothing in our process, Redis with AOF everysec, embedded Postgres with fsync and synchronous_commit on, log level warn. Worker and line are running, and have drained as many before, and at most ${JOBS}, uncounted; what they drain waits in a paused queue, or of paused companies, and is measured from its release.`

/** Below their targets since the events are plain rows, and lanes and clients plain ones. */
const WHY = `The targets are missed, and the design stays: an e-mail costs about 70 µs in Node and 90 µs in Postgres, most of it for what makes the code plain. Five appended event rows and an updated recipient are more than half of the writes; a text part is made from the HTML of every e-mail without one (20 µs); one statement serves all e-mails of a step, whatever they have in common. Telling RECEIVED and VALIDATED by the row of SENT_ATTEMPT, and storing the text part when the e-mail is accepted, would bring most of it back.`

type Parts = { postgres: BenchPostgres; redisUrl: string }

async function withParts(act: (parts: Parts) => Promise<void>): Promise<void> {
  const postgres = await startPostgres()
  const redis = await startRedis()
  try {
    await act({ postgres, redisUrl: redis.url })
  } finally {
    await redis.stop()
    await postgres.close()
  }
}

const SECRETS = { ENCRYPTION_KEY: 'ab'.repeat(32), HASH_PEPPER: 'pepper '.repeat(8) }

function ours({ postgres, redisUrl }: Parts, lane: 'direct' | 'bullmq', jobs: number): () => Promise<number> {
  return async () =>
    perSecond(
      await runReference('drain-ours.js', {
        ...SECRETS,
        DATABASE_URL: await postgres.fresh(),
        REDIS_URL: lane === 'bullmq' ? redisUrl : '',
        WORKER_CONCURRENCY: '100',
        LOG_LEVEL: 'warn',
        WARM_UP_JOBS: warmUpJobs(jobs),
        JOBS: String(jobs),
      }),
    )
}

function reference({ postgres, redisUrl }: Parts, file: string, jobs: number): () => Promise<number> {
  return async () =>
    perSecond(
      await runReference(file, {
        ...SECRETS,
        REDIS_URL: redisUrl,
        DATABASE_URL: await postgres.fresh(),
        WARM_UP_JOBS: warmUpJobs(jobs),
        JOBS: String(jobs),
      }),
    )
}

/** The direct lane, against BullMQ that does nothing and against the way the source documents sketch it. */
export const benchDrainDirect = () =>
  withParts(async parts => {
    const stock = await startStockPostgres()
    const figures = await interleave({
      'BullMQ, no-op': reference(parts, 'bullmq-noop.js', JOBS),
      'ours, direct': ours(parts, 'direct', JOBS),
      'ours, direct, stock Postgres': ours({ ...parts, postgres: stock }, 'direct', JOBS),
      'seed-style': reference(parts, 'seed-pipeline.js', SEED_JOBS),
      'floor (bare statements)': reference(parts, 'floor.js', JOBS),
    })
    const sustained = await interleave(
      {
        'BullMQ, no-op, sustained': reference(parts, 'bullmq-noop.js', SUSTAINED_JOBS),
        'ours, direct, sustained': ours(parts, 'direct', SUSTAINED_JOBS),
      },
      { rounds: SUSTAINED_ROUNDS },
    )
    await stock.close()
    const mine = figures['ours, direct']
    writeResults('drain-direct', [
      `${HOW} ${ROUNDS} rounds of ${JOBS} e-mails (seed-style ${SEED_JOBS}), ${SUSTAINED_ROUNDS} of ${SUSTAINED_JOBS}.`,
      '',
      ...RATIO_HEAD,
      ratioRow('drain ÷ BullMQ no-op, 20 k', '≥ 1.2', mine, figures['BullMQ, no-op']),
      ratioRow(
        'drain ÷ BullMQ no-op, sustained 150 k',
        '≥ 1.1',
        sustained['ours, direct, sustained'],
        sustained['BullMQ, no-op, sustained'],
      ),
      ratioRow('drain ÷ seed-style', '≥ 18', mine, figures['seed-style']),
      ratioRow('stock Postgres ÷ embedded', '', figures['ours, direct, stock Postgres'], mine),
      ratioRow('floor ÷ BullMQ no-op', '', figures['floor (bare statements)'], figures['BullMQ, no-op']),
      ratioRow('drain ÷ floor', '', mine, figures['floor (bare statements)']),
      '',
      WHY,
      '',
      'The floor is what no implementation on these tables can pass here: three bare statements per 250 e-mails, four connections, no fairness, no lease, no content, no check (`bench/servers/floor.ts`).',
      '',
      ...absoluteTable('e-mails or jobs per second', { ...figures, ...sustained } as Figures<string, number>),
    ])
  })

/** The BullMQ lane, against BullMQ with a feeder and a worker that does nothing. */
export const benchDrainBullmq = () =>
  withParts(async parts => {
    const figures = await interleave({
      'BullMQ, feeder and no-op': reference(parts, 'bullmq-feeder.js', JOBS),
      'ours, BullMQ lane': ours(parts, 'bullmq', JOBS),
      'seed-style': reference(parts, 'seed-pipeline.js', SEED_JOBS),
    })
    const mine = figures['ours, BullMQ lane']
    writeResults('drain-bullmq', [
      `${HOW} ${ROUNDS} rounds of ${JOBS} e-mails (seed-style ${SEED_JOBS}); one process is feeder and worker, as in the reference.`,
      '',
      ...RATIO_HEAD,
      ratioRow('drain ÷ BullMQ with a feeder, no-op', '≥ 0.45', mine, figures['BullMQ, feeder and no-op']),
      ratioRow('drain ÷ seed-style', '≥ 4', mine, figures['seed-style']),
      '',
      WHY,
      '',
      ...absoluteTable('e-mails or jobs per second', figures),
    ])
  })
