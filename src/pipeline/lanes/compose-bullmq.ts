import { Redis } from 'ioredis'
import type { Logger } from 'pino'
import { returnClaims, returnWhenUnlocked } from '../../outbox/claim.ts'
import { electFeeder, findCompanies, resignFeeder, returnWithoutJob } from '../../outbox/dispatch.ts'
import type { EmailToSend } from '../../outbox/load.ts'
import { Batcher } from '../../platform/batcher.ts'
import { countOne } from '../../platform/postgres/counters.ts'
import { checkRedisSettings, sentenceOf } from '../../platform/redis.ts'
import { uuidv7 } from '../../platform/text/uuid.ts'
import { totalConcurrency } from '../../settings/workers.ts'
import { type ClaimOptions, dispatchFairly, leaseJobs } from '../claim/claim.ts'
import { BullmqLane, type LeasedJob, type PoisonJob } from './bullmq.ts'
import { type AttemptAndSettle, IDLE_MS, type LaneParts } from './compose.ts'
import { type FedQueue, Feeder, FeederElection } from './feeder.ts'
import type { HeldLeases } from './held-leases.ts'
import { jobQueue, UnreadableJobs } from './job-queue.ts'

const FEEDER_SECONDS = 5
/** Dispatched e-mails of this age whose job is not in the queue are ready again. */
const WITHOUT_JOB_SECONDS = 1
const UNREADABLE_CHECK_MS = 1_000
/** Jobs that arrive while others are being leased are leased together: one commit for many e-mails. */
const LEASE_BATCH = { maxItems: 256, concurrency: 1 }
/**
 * A connection that receives nothing for so long while it waits for an answer is dead, whatever TCP says: a server that loses its
 * power or a firewall that drops a connection closes nothing. BullMQ's blocking command is answered within 10 s.
 */
const WORKER_SOCKET_TIMEOUT_MS = 15_000
const FEEDER_SOCKET_TIMEOUT_MS = 5_000

export type BullmqLaneParts = LaneParts & {
  /** The id of this process in `workers`; as the feeder it is known by it, too. */
  workerId: string
}

/**
 * Three connections: the worker's, which waits for a Redis that is away, a copy of it that BullMQ makes to block on, and the feeder's,
 * which fails at once, and the feeder tries again.
 */
export function bullmqLane(
  parts: BullmqLaneParts,
  redisUrl: string,
  options: ClaimOptions,
  leases: HeldLeases,
  send: AttemptAndSettle,
) {
  const { config, db, log } = parts
  const forWorker = new Redis(redisUrl, { maxRetriesPerRequest: null, socketTimeout: WORKER_SOCKET_TIMEOUT_MS })
  const forFeeder = new Redis(redisUrl, {
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    connectTimeout: FEEDER_SOCKET_TIMEOUT_MS,
    socketTimeout: FEEDER_SOCKET_TIMEOUT_MS,
  })
  for (const redis of [forWorker, forFeeder])
    redis.on('error', error => log.debug({ err: error }, 'Redis is out of reach'))
  const queue = jobQueue(forFeeder, log)
  reportRedisSettings(redisUrl, log)
  const reportPoison = (job: PoisonJob) => {
    log.error(job, 'Poison job dropped: it is not one of ours, or its e-mail does not exist')
    countOne(db.pool, 'poison_jobs', job.reason).catch(() => {})
  }
  const batcher = new Batcher({
    ...LEASE_BATCH,
    flush: (outboxIds: string[]) => leaseAndTrack(parts, outboxIds, options, leases),
  })
  const lane = new BullmqLane<EmailToSend>({
    connection: forWorker,
    concurrency: config.WORKER_CONCURRENCY,
    feeder: makeFeeder(parts, queue, options),
    unreadableJobs: new UnreadableJobs({
      queue,
      dropped: jobId => reportPoison({ jobId, reason: 'garbled' }),
      checkEveryMs: UNREADABLE_CHECK_MS,
    }),
    leases,
    lease: outboxId => batcher.add(outboxId),
    // The company comes from the e-mail: what the job says could be wrong.
    work: leased => send({ ...leased, companyId: leased.email.companyId }),
    reportPoison,
    log,
  })
  const close = async () => {
    await queue.close()
    forFeeder.disconnect()
    forWorker.disconnect()
  }
  return { lane, close }
}

function reportRedisSettings(redisUrl: string, log: Logger): void {
  checkRedisSettings(redisUrl)
    .then(findings => findings.forEach(finding => void log.warn(sentenceOf(finding))))
    .catch(error => log.error({ err: error }, 'Redis cannot be reached; mail is accepted and waits in Postgres'))
}

/** Leases that ended since the last batch are ended by the same statement. */
async function leaseAndTrack(
  { db }: LaneParts,
  outboxIds: string[],
  options: ClaimOptions,
  leases: HeldLeases,
): Promise<LeasedJob<EmailToSend>[]> {
  const endedLeases = leases.takeEnded()
  const leaseId = uuidv7()
  try {
    const jobs = await leaseJobs(db.sending.emails, outboxIds, { leaseId, endedLeases }, options)
    const taken = jobs.filter(job => job.kind === 'taken')
    if (taken[0]) leases.track(taken[0].leaseId, taken.length)
    return jobs
  } catch (error) {
    leases.restoreEnded(endedLeases)
    leases.returnUncertain(leaseId)
    throw error
  }
}

function makeFeeder(
  { config, db, providers, emailsReady, workerId, log }: BullmqLaneParts,
  queue: FedQueue,
  options: ClaimOptions,
): Feeder {
  return new Feeder({
    queue,
    election: new FeederElection({
      elect: () => electFeeder(db.short, workerId, FEEDER_SECONDS),
      electedMs: FEEDER_SECONDS * 1000,
      resign: () => resignFeeder(db.short, workerId),
    }),
    totalConcurrency: () => totalConcurrency(db.short, 'bullmq'),
    ownConcurrency: config.WORKER_CONCURRENCY,
    claim: limits => dispatchFairly({ claims: db.sending.claims, jobs: db.short }, limits, options),
    returnClaim: ({ leaseId }) => returnClaims(db.short, [leaseId]),
    returnLater: outboxIds => returnWhenUnlocked(db.short, outboxIds),
    returnWithoutJob: queued => returnWithoutJob(db.short, queued, WITHOUT_JOB_SECONDS),
    companiesOf: outboxIds => findCompanies(db.short, outboxIds),
    maxInFlight: providers.maxInFlight,
    ready: emailsReady,
    idleMs: IDLE_MS,
    log,
  })
}
