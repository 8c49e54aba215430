import { randomUUID } from 'node:crypto'
import { Queue, QueueKeys } from 'bullmq'
import type { Redis } from 'ioredis'
import type { Logger } from 'pino'
import { BULLMQ_QUEUE_NAME } from '../contracts/job.ts'
import { countOne } from '../db/counters.ts'
import { electFeeder, findCompanies, resignFeeder, returnUndelivered } from '../db/outbox/dispatch.ts'
import type { EmailToSend } from '../db/outbox/load.ts'
import { totalConcurrency } from '../db/workers.ts'
import { type ClaimOptions, dispatchFairly, receiveJobs, takeBack } from '../pipeline/claim.ts'
import { Batcher } from '../runtime/batcher.ts'
import { BullmqLane } from '../sending/bullmq-lane.ts'
import { CrowdRedis } from '../sending/crowd-redis.ts'
import { type FedQueue, Feeder } from '../sending/feeder.ts'
import type { HeldLeases } from '../sending/held-leases.ts'
import { checkRedisSettings, sentenceOf, WITHOUT_ITS_CHECKS } from '../sending/redis-settings.ts'
import { IDLE_MS, type LaneParts, type SendClaimed } from './sending.ts'

const FEEDER_SECONDS = 5
/** Jobs that arrive together, or while others are being received, are received together. */
const RECEIPT_BATCH = { maxItems: 256, concurrency: 1 }
/** And in a crowd, those of so many milliseconds: each statement, with the start that follows it, costs as much as ten e-mails in it. */
const RECEIPT_GATHER_MS = 16

/**
 * A connection that receives nothing for so long while it waits for an answer is dead, whatever TCP says: a peer that loses its
 * power or a firewall that forgets a connection closes nothing. BullMQ's blocking command is answered after 5 s, never later than 10.
 */
const WORKER_SOCKET_TIMEOUT_MS = 15_000
const FEEDER_SOCKET_TIMEOUT_MS = 5_000

/** Two connections: the worker's blocks, and waits for a Redis that is away; the feeder's says so and tries again. */
export function bullmqLane(
  parts: LaneParts,
  redisUrl: string,
  claim: ClaimOptions,
  leases: HeldLeases,
  send: SendClaimed,
) {
  const { config, db, log } = parts
  const onError = (error: Error) => log.debug({ err: error }, 'Redis is out of reach')
  const blocking = new CrowdRedis(redisUrl, {
    maxRetriesPerRequest: null,
    socketTimeout: WORKER_SOCKET_TIMEOUT_MS,
  }).on('error', onError)
  // Not `commandTimeout`: a timer for each of the crowd's commands.
  const quick = new CrowdRedis(redisUrl, {
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    socketTimeout: FEEDER_SOCKET_TIMEOUT_MS,
  })
  quick.on('error', onError)
  const feeder = makeFeeder(parts, quick, claim)
  checkRedisSettings(redisUrl)
    .then(findings => findings.forEach(finding => void log.warn(sentenceOf(finding))))
    .catch(error => log.error({ err: error }, 'Redis cannot be reached; mail is accepted and waits in Postgres'))
  const receipts = new Batcher({
    ...RECEIPT_BATCH,
    gather: {
      ms: RECEIPT_GATHER_MS,
      get enough(): number {
        return lane.expected(RECEIPT_GATHER_MS)
      },
    },
    flush: async (outboxIds: string[]) => {
      const ended = leases.takeEnded()
      try {
        const received = await receiveJobs(db.line.emails, outboxIds, ended, claim)
        const taken = received.filter(one => one.kind === 'taken')
        if (taken[0]) leases.hold(taken[0].leaseId, taken.length)
        return received
      } catch (error) {
        leases.restoreEnded(ended)
        throw error
      }
    },
  })
  const lane: BullmqLane<EmailToSend> = new BullmqLane<EmailToSend>({
    connection: blocking,
    concurrency: config.WORKER_CONCURRENCY,
    feeder: feeder.feeder,
    leases,
    receive: outboxId => receipts.add(outboxId),
    // Whose it is, the e-mail says: a job has no authority.
    work: claimed => send({ ...claimed, companyId: claimed.content.companyId }),
    poison: ({ jobId, reason }) => {
      log.error({ jobId, reason }, 'Poison job dropped: it is not one of ours, or its e-mail does not exist')
      countOne(db.pool, 'poison_jobs', reason).catch(() => {})
    },
    log,
  })
  const close = async () => {
    await feeder.close()
    quick.disconnect()
    blocking.disconnect()
  }
  return { lane, close }
}

function makeFeeder({ config, db, providers, emailsReady, log }: LaneParts, redis: Redis, claim: ClaimOptions) {
  const holder = randomUUID()
  const queue = openQueue(redis, log)
  const feeder = new Feeder({
    queue,
    redis,
    elect: () => electFeeder(db.hot, holder, FEEDER_SECONDS),
    electedMs: FEEDER_SECONDS * 1000,
    resign: () => resignFeeder(db.hot, holder),
    concurrency: () => totalConcurrency(db.hot, 'bullmq'),
    ownConcurrency: config.WORKER_CONCURRENCY,
    claim: limits => dispatchFairly({ claims: db.line.claims, facts: db.hot }, limits, claim),
    takeBack: ({ leaseId, claimed }) =>
      takeBack(
        db.hot,
        leaseId,
        claimed.map(one => one.outboxId),
      ),
    returnUndelivered: queued => returnUndelivered(db.hot, queued, 1),
    companiesOf: outboxIds => findCompanies(db.hot, outboxIds),
    mayClaim: providers.mayClaim,
    ready: emailsReady,
    idleMs: IDLE_MS,
    log,
  })
  return { feeder, close: () => queue.close() }
}

/** A queue whose first question to Redis failed stays broken for ever, so that one is thrown away and another one made. */
function openQueue(redis: Redis, log: Logger): FedQueue & { close(): Promise<void> } {
  const keys = new QueueKeys()
  let open: Queue | null = null

  async function ready(): Promise<Queue> {
    if (open) return open
    const made = new Queue(BULLMQ_QUEUE_NAME, { connection: redis, skipWaitingForReady: true, ...WITHOUT_ITS_CHECKS })
    made.on('error', error => log.debug({ err: error }, 'The queue is out of reach'))
    try {
      await made.waitUntilReady()
    } catch (error) {
      await made.close().catch(() => {})
      throw error
    }
    open = made
    return made
  }

  return {
    toKey: type => keys.toKey(BULLMQ_QUEUE_NAME, type),
    addJobs: async jobs => (await ready()).getBackend().addJobs(jobs),
    remove: async jobId => (await ready()).remove(jobId),
    close: async () => void (await open?.close()),
  }
}
