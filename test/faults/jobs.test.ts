import { cp, rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { describe, expect, type TestContext, test } from 'vitest'
import { BULLMQ_QUEUE_NAME } from '../../src/outbox/job.ts'
import { uuidv7 } from '../../src/platform/text/uuid.ts'
import { type Deployment, startDeployment } from '../support/deployment.ts'
import { edition, fault } from '../support/faults.ts'
import { until } from '../support/gateway.ts'
import { audit } from '../support/ledger.ts'

const EMAILS = edition(400, 5_000)
const REMOVED = edition(15, 100)
const WAIT = `bull:${BULLMQ_QUEUE_NAME}:wait`
const keyOf = (jobId: string) => `bull:${BULLMQ_QUEUE_NAME}:${jobId}`

describe.concurrent('jobs in Redis that are not as we left them', () => {
  test('left over from e-mails that were sent, and added again under other names: nothing is sent twice', {
    timeout: 120_000,
  }, async context => {
    const { report } = fault(context, 'jobs left over and added twice')
    const deployment = await startDeployment(context, { redis: true })
    await deployment.worker()
    const queue = openQueue(context, deployment)
    await deployment.post(EMAILS / 2)
    await deployment.drained()
    const sent = [...deployment.accepted]
    await queue.addBulk(sent.map(id => job(id)))
    await deployment.post(EMAILS / 4, () => ({ delay: 3_600_000 }))
    const later = [...deployment.accepted].slice(sent.length)
    await queue.addBulk(later.map(id => job(id)))
    await deployment.ses.control({ default: { kind: 'ok', latencyMs: 100 } })
    await deployment.post(EMAILS / 4)
    const waiting = [...deployment.accepted].slice(sent.length + later.length)
    for (let round = 0; round < 5; round++) {
      await queue.addBulk(waiting.flatMap(id => [job(id), job(id), { ...job(id), opts: { jobId: `again-${id}` } }]))
      await sleep(100)
    }
    await expectQuiet(queue)
    const early = await deployment.db.pool.query(
      `select from email_outbox where outbox_id = any($1) and status <> 'PENDING'`,
      [later],
    )
    expect(early.rowCount, 'scheduled mail that a job brought forward').toBe(0)
    await deployment.db.pool.query(
      `with due as (update email_scheduled set due_at = now() returning outbox_id)
       update email_outbox o set next_attempt_at = now() from due where o.outbox_id = due.outbox_id`,
    )
    const figures = await expectEachSentOnce(deployment)
    report({
      done: `${sent.length + later.length} stale jobs, ${waiting.length * 15} doubled ones`,
      checked: 'each e-mail sent once, none early, the queue empty afterwards',
      figures,
    })
  })

  test('removed behind our back, again and again: their e-mails are dispatched again', {
    timeout: 120_000,
  }, async context => {
    const { report, between } = fault(context, 'jobs removed behind our back')
    const deployment = await startDeployment(context, { redis: true, env: { WORKER_CONCURRENCY: '10' } })
    await deployment.ses.control({ default: { kind: 'ok', latencyMs: 50 } })
    await deployment.worker()
    await deployment.post(EMAILS)
    await until(
      async () => deployment.ses.accepted().length,
      length => length > 20,
    )
    const redis = deployment.redis!.client()
    let removed = 0
    for (let round = 0; removed < REMOVED; round++) {
      const ids = await redis.lrange(WAIT, 0, -1)
      // Now the entry of the list, now the job itself, now both.
      if (round % 3 !== 0) for (const id of ids) await redis.del(keyOf(id))
      if (round % 3 !== 1) await redis.del(WAIT)
      removed += ids.length
      await deployment.post(20)
      await sleep(between(20, 200))
    }
    const figures = await expectEachSentOnce(deployment)
    report({ done: `${removed} jobs removed, a few at a time`, checked: 'each e-mail sent once', figures })
  })

  test('restored from an earlier copy of the Redis data: nothing is lost and nothing is sent twice', {
    timeout: 120_000,
  }, async context => {
    const { report } = fault(context, 'Redis restored from an earlier copy')
    const deployment = await startDeployment(context, { redis: true, env: { WORKER_CONCURRENCY: '10' } })
    const { directory } = deployment.redis!
    await deployment.ses.control({ default: { kind: 'ok', latencyMs: 50 } })
    await deployment.worker()
    await deployment.post(EMAILS / 2)
    await until(
      async () => deployment.ses.accepted().length,
      length => length > 20,
    )
    await sleep(1_100)
    await cp(directory, `${directory}-copy`, { recursive: true })
    context.onTestFinished(() => rm(`${directory}-copy`, { recursive: true, force: true }))
    await deployment.post(EMAILS / 2)
    await sleep(1_000)
    await deployment.redis!.kill()
    await rm(directory, { recursive: true })
    await cp(`${directory}-copy`, directory, { recursive: true })
    await deployment.redis!.start()
    const figures = await expectEachSentOnce(deployment)
    report({
      done: `${EMAILS} e-mails; a copy taken in the middle came back`,
      checked: 'each e-mail sent once',
      figures,
    })
  })
})

describe.concurrent('poison', () => {
  test('garbage, a job without an e-mail, and content that turned hostile end visibly; their neighbours are unharmed', {
    timeout: 120_000,
  }, async context => {
    const { report } = fault(context, 'poison jobs')
    const deployment = await startDeployment(context, { redis: true })
    const worker = await deployment.worker()
    const queue = openQueue(context, deployment)
    const redis = deployment.redis!.client()
    const missing = uuidv7()
    const unreadable = uuidv7()
    await deployment.post(100, () => ({ delay: 3_600_000, html: '<p>It works.</p>' }))
    const [hostile, shadowed] = deployment.accepted
    await deployment.db.pool.query(`update email_content set html = '<script>1</script>' where outbox_id = $1`, [
      hostile,
    ])
    await queue.addBulk([job(missing), { name: 'x', data: { any: 'thing' } as never, opts: { jobId: 'garbage' } }])
    for (const id of [unreadable, shadowed!]) {
      await redis.hset(keyOf(id), {
        name: 'x',
        data: '{"broken',
        opts: '{}',
        timestamp: '1',
        delay: '0',
        priority: '0',
      })
      await redis.lpush(WAIT, id)
    }
    await deployment.db.pool.query(
      `with due as (update email_scheduled set due_at = now() returning outbox_id)
       update email_outbox o set next_attempt_at = now() from due where o.outbox_id = due.outbox_id`,
    )
    await deployment.drained()
    const { rows } = await deployment.db.pool.query(
      `select status, error_code from email_outbox where outbox_id = $1`,
      [hostile],
    )
    expect(rows).toEqual([{ status: 'FAILED', error_code: 'INVALID_TEMPLATE' }])
    const counters = await until(
      async () =>
        (await deployment.db.pool.query(`select label, value::int from counters where name = 'poison_jobs'`)).rows,
      found => found.length >= 2 && found.some(({ label, value }) => label === 'garbled' && value === 3),
      60_000,
    )
    expect(counters).toEqual(
      expect.arrayContaining([
        { label: 'garbled', value: 3 },
        { label: 'no-such-email', value: 1 },
      ]),
    )
    expect(worker.output()).toMatch(/"jobId":"garbage".*Poison job dropped/)
    await expectQuiet(queue)
    const { broken, figures } = await audit(deployment.db.pool, {
      accepted: deployment.accepted,
      log: deployment.ses.accepted(),
    })
    expect(broken).toEqual([])
    expect(figures).toMatchObject({ SENT: 99, FAILED: 1, duplicates: 0, unknown: 0 })
    report({
      done: 'a job of garbage, one that is no JSON, one without an e-mail, one that shadows an e-mail, hostile HTML',
      checked: 'logged and counted; FAILED with INVALID_TEMPLATE; the 99 neighbours sent once; the queue empty',
      figures,
    })
  })
})

function openQueue(context: TestContext, deployment: Deployment): Queue {
  const connection = new Redis(deployment.redis!.url, { maxRetriesPerRequest: null }).on('error', () => {})
  const queue = new Queue(BULLMQ_QUEUE_NAME, { connection })
  queue.on('error', () => {})
  context.onTestFinished(async () => {
    await queue.close()
    connection.disconnect()
  })
  return queue
}

function job(outboxId: string) {
  const data = {
    outboxId,
    companyId: uuidv7(),
    requestId: 'old',
    htmlRef: 'old',
    attempt: 1,
    enqueuedAt: '2020-01-01T00:00:00Z',
  }
  return {
    name: 'email:send',
    data,
    opts: { jobId: outboxId, attempts: 1, removeOnComplete: true, removeOnFail: true },
  }
}

/** No job is retried for ever: what is not ours to do leaves the queue. */
async function expectQuiet(queue: Queue): Promise<void> {
  await until(
    () => queue.getJobCounts('wait', 'active', 'delayed', 'failed', 'prioritized'),
    counts => Object.values(counts).every(count => count === 0),
    60_000,
  )
}

async function expectEachSentOnce(deployment: Deployment) {
  const seconds = await deployment.drained()
  const { broken, figures } = await audit(deployment.db.pool, {
    accepted: deployment.accepted,
    log: deployment.ses.accepted(),
  })
  expect(deployment.refused).toEqual([])
  expect(broken).toEqual([])
  expect(figures).toMatchObject({ SENT: deployment.accepted.size, duplicates: 0, unknown: 0 })
  return { ...figures, 'seconds to drain': seconds.toFixed(1) }
}
