import { randomUUID } from 'node:crypto'
import {
  assertEmpty,
  CONCURRENCY,
  completed,
  connectRedis,
  openQueue,
  slimJob,
  startWorker,
} from '../support/bullmq.ts'
import { answer, orders } from '../support/reference.ts'

/**
 * Reference: BullMQ with a small window instead of the whole backlog. The same worker as bullmq-noop, and a feeder in the
 * same process that keeps the window filled from memory.
 *
 * Tried, seven interleaved rounds, jobs a second with a window of 200 (room = free places that are worth a call;
 * the number after it is how many calls may be under way): 1×1 4 550 · 25×1 5 700 · 50×1 5 900 · 100×1 5 000 ·
 * 50×2 7 500 · 25×2 7 400 · 25×4 7 500 · 25×8 8 300 · 10×20 7 400 · 1×100 4 700. Waiting for the answer of the last call
 * lets the window run dry; many small calls cost more than they bring. So: an eighth of the window, without waiting.
 */
const WINDOW = 2 * CONCURRENCY
const ROOM_WORTH_A_CALL = WINDOW / 8

const { redisUrl, jobs, warmUpJobs } = orders()
const queue = openQueue(connectRedis(redisUrl))
await queue.waitUntilReady()
const worker = await startWorker(redisUrl, async () => {})

async function measure(count: number): Promise<number> {
  const backlog = Array.from({ length: count }, () => randomUUID())
  let fed = 0
  let inWindow = 0
  function feed(): void {
    const room = WINDOW - inWindow
    if (room < ROOM_WORTH_A_CALL || fed === count) return
    const ids = backlog.slice(fed, fed + room)
    fed += ids.length
    inWindow += ids.length
    // A refused call ends the process: the measurement would never end.
    void queue.addBulk(ids.map(slimJob))
  }
  const done = completed(worker, count, () => {
    inWindow--
    feed()
  })
  const startedMs = performance.now()
  feed()
  await done
  const ms = performance.now() - startedMs
  await assertEmpty(queue)
  return ms
}

await measure(warmUpJobs)
answer({ jobs, ms: await measure(jobs) })
process.exit(0)
