import { readdir, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { type Deployment, startDeployment } from '../support/deployment.ts'
import { edition, type Fault, FULL, fault } from '../support/faults.ts'
import { audit } from '../support/ledger.ts'
import type { RedisServer } from '../support/redis-server.ts'

const EMAILS = edition(300, 10_000)
const AWAY_SECONDS = edition(4, 30)
/** From the moment that Redis is back. A job whose answer was lost with it stays locked for up to 25 of them. */
const DRAIN_SECONDS = 30
/** What waits takes its time on a machine that does other things, too. */
const SLOWEST_PER_SECOND = 100

type Trouble = [what: string, cause: (redis: RedisServer, fault: Fault) => Promise<unknown>]

const TROUBLES: Trouble[] = [
  ['killed with SIGKILL and started again', killAndStart],
  ['emptied with FLUSHALL, three times', flushThrice],
  ['killed, and the end of its append-only file lost', cutTail],
  ['out of memory for a while', runOutOfMemory],
  [`away for ${AWAY_SECONDS} s`, goAway],
]

describe.concurrent(`Redis in trouble in the middle of ${EMAILS} e-mails`, () => {
  test.for(TROUBLES)(
    '%s: the API goes on accepting, nothing is lost, nothing is sent twice',
    {
      timeout: edition(120_000, 600_000),
    },
    async ([what, cause], context) => {
      const own = fault(context, `Redis ${what}`)
      const deployment = await startDeployment(context, { redis: true, env: { WORKER_CONCURRENCY: '25' } })
      await deployment.ses.control({ default: { kind: 'ok', latencyMs: 10 } })
      await deployment.worker()
      if (FULL) await deployment.worker()
      await deployment.post(EMAILS / 2)
      await sleep(own.between(0, 300))
      const posting = keepPosting(deployment, EMAILS / 2)
      await cause(deployment.redis!, own)
      const meanwhile = await posting.stop()
      const left = deployment.accepted.size - deployment.ses.accepted().length
      const seconds = await deployment.drained(DRAIN_SECONDS + left / SLOWEST_PER_SECOND)
      const { broken, figures } = await audit(deployment.db.pool, {
        accepted: deployment.accepted,
        log: deployment.ses.accepted(),
      })
      expect(deployment.refused, 'Redis is not on the request path').toEqual([])
      expect(meanwhile, 'accepted while Redis was in trouble').toBeGreaterThan(0)
      expect(broken).toEqual([])
      expect(figures).toMatchObject({ SENT: deployment.accepted.size, duplicates: 0, unknown: 0 })
      own.report({
        done: `${deployment.accepted.size} e-mails, ${meanwhile} of them accepted meanwhile`,
        checked: 'Redis is disposable',
        figures: { ...figures, 'waiting when Redis was back': left, 'seconds to drain': seconds.toFixed(1) },
      })
    },
  )
})

/** Requests one after the other until told to stop, in the end of single e-mails; answers how many e-mails they were. */
function keepPosting(deployment: Deployment, most: number): { stop: () => Promise<number> } {
  const before = deployment.accepted.size
  let stopping = false
  async function run(): Promise<void> {
    while (!stopping) {
      const enough = deployment.accepted.size - before >= most
      await deployment.post(enough ? 1 : edition(20, 100))
      await sleep(enough ? 100 : 20)
    }
  }
  const running = run()
  return {
    async stop() {
      stopping = true
      await running
      return deployment.accepted.size - before
    },
  }
}

async function killAndStart(redis: RedisServer): Promise<void> {
  await redis.kill()
  await redis.start()
}

async function flushThrice(redis: RedisServer, { between }: Fault): Promise<void> {
  for (let flush = 0; flush < 3; flush++) {
    await redis.client().flushall()
    await sleep(between(50, 800))
  }
}

async function cutTail(redis: RedisServer, { between }: Fault): Promise<void> {
  await redis.kill()
  const folder = join(redis.directory, 'appendonlydir')
  const file = join(folder, (await readdir(folder)).find(name => name.endsWith('.incr.aof'))!)
  const { size } = await stat(file)
  await truncate(file, Math.max(0, size - between(1, 4_000)))
  await redis.start()
}

async function runOutOfMemory(redis: RedisServer): Promise<void> {
  await redis.client().config('SET', 'maxmemory', '1')
  await sleep(AWAY_SECONDS * 1000)
  await redis.client().config('SET', 'maxmemory', '0')
}

async function goAway(redis: RedisServer): Promise<void> {
  await redis.kill()
  await sleep(AWAY_SECONDS * 1000)
  await redis.start()
}
