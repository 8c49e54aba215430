import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { type Deployment, LANES, type Running, startDeployment } from '../support/deployment.ts'
import { edition, fault } from '../support/faults.ts'
import { until } from '../support/gateway.ts'
import { audit, endHolds } from '../support/ledger.ts'

const STOPS = edition(2, 30)
const EMAILS_PER_STOP = edition(120, 300)
const STOPPED = { code: 0, signal: null }

describe.concurrent('a worker told to stop with SIGTERM under load', () => {
  test.for(LANES)(
    '%s lane: it exits 0, leaves nothing unknown, and the next one sends what it returned to ready',
    {
      timeout: edition(120_000, 600_000),
    },
    async ([lane, redis], context) => {
      const { between, report } = fault(context, `worker stopped with SIGTERM under load, ${lane} lane`)
      const deployment = await startDeployment(context, { redis, env: { WORKER_CONCURRENCY: '25' } })
      await deployment.ses.control({ default: { kind: 'ok', latencyMs: 200 } })
      let longestMs = 0
      for (let stop = 1; stop <= STOPS; stop++) {
        const worker = await deployment.worker()
        await deployment.post(EMAILS_PER_STOP)
        await sleep(between(0, 600))
        const askedMs = Date.now()
        worker.signal('SIGTERM')
        expect(await worker.exited).toEqual(STOPPED)
        longestMs = Math.max(longestMs, Date.now() - askedMs)
        expect(await inFlight(deployment), 'what a worker that has ended says to have in flight').toEqual([])
        expect(worker.output()).not.toMatch(/"level":"(error|fatal)"/)
      }
      await deployment.worker()
      await deployment.drained()
      const { broken, figures } = await audit(deployment.db.pool, {
        accepted: deployment.accepted,
        log: deployment.ses.accepted(),
      })
      expect(broken).toEqual([])
      expect(figures).toMatchObject({ SENT: deployment.accepted.size, duplicates: 0, unknown: 0 })
      report({
        done: `${STOPS} workers, one after the other, each stopped in the middle of its work; ${deployment.accepted.size} e-mails`,
        checked: 'exit 0; no lease of work left; no UNKNOWN; every e-mail sent once',
        figures: { ...figures, 'longest ms from SIGTERM to exit': longestMs },
      })
    },
  )

  test('a second SIGTERM ends it at once, and what it was sending becomes UNKNOWN, not forgotten', {
    timeout: 120_000,
  }, async context => {
    const { report } = fault(context, 'worker stopped with SIGTERM twice')
    const deployment = await startDeployment(context)
    await deployment.ses.control({ default: { kind: 'slow', latencyMs: 20_000 } })
    const worker = await deployment.worker()
    await deployment.post(40)
    await until(
      async () => deployment.ses.accepted().length,
      length => length > 0,
    )
    worker.signal('SIGTERM')
    await until(
      async () => worker.output(),
      text => /SIGTERM: finishing/.test(text),
    )
    const askedMs = Date.now()
    worker.signal('SIGTERM')
    expect(await worker.exited).toEqual({ code: 1, signal: null })
    const tookMs = Date.now() - askedMs
    expect(tookMs).toBeLessThan(3_000)
    await deployment.ses.control({ default: { kind: 'ok' } })
    await deployment.worker()
    await deployment.drained()
    const held = await endHolds(deployment.db.pool)
    const { broken, figures } = await audit(deployment.db.pool, {
      accepted: deployment.accepted,
      log: deployment.ses.accepted(),
    })
    expect(broken).toEqual([])
    expect(held, 'those that the provider had were held').toBeGreaterThan(0)
    report({
      done: '40 e-mails under way at a provider that answers after 20 s',
      checked: 'exit 1 at once; what was under way is UNKNOWN and ends by its policy',
      figures: { ...figures, 'ms to exit': tookMs },
    })
  })

  test('told to stop while Redis is away, it still exits 0', { timeout: 120_000 }, async context => {
    const { report } = fault(context, 'worker stopped with SIGTERM while Redis is away')
    const deployment = await startDeployment(context, { redis: true })
    const worker = await deployment.worker()
    await deployment.post(100)
    await deployment.drained()
    await deployment.redis!.kill()
    await sleep(500)
    const seconds = await secondsToExit(worker)
    expect(seconds).toBeLessThan(45)
    report({
      done: 'an idle worker of the BullMQ lane whose Redis was killed',
      checked: 'exit 0',
      figures: { 'seconds to exit': seconds.toFixed(1) },
    })
  })
})

async function secondsToExit(worker: Running): Promise<number> {
  const askedMs = Date.now()
  worker.signal('SIGTERM')
  const late = sleep(60_000, 'still running a minute after SIGTERM', { ref: false })
  expect(await Promise.race([worker.exited, late])).toEqual(STOPPED)
  return (Date.now() - askedMs) / 1000
}

async function inFlight({ db }: Deployment) {
  const started = `select status from email_outbox where status in ('PROCESSING', 'UNKNOWN')`
  return (await db.pool.query(`select kind as status from leases where kind = 'work' union all ${started}`)).rows
}
