import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { FAILURES_IN_A_ROW } from '../../src/providers/breaker.ts'
import { maxAttempts } from '../../src/settings/retry.ts'
import { type Deployment, LANES_IN_FULL, startDeployment } from '../support/deployment.ts'
import { clock } from '../support/fake-time.ts'
import { edition, fault } from '../support/faults.ts'
import { until } from '../support/gateway.ts'
import { audit, endHolds } from '../support/ledger.ts'
import { makeDue } from '../support/outbox.ts'

const EMAILS = edition(40, 400)
const OFF_MS = 5 * 60_000
const DELAY_MS = 3_000
/** Later than this is too late for anything that is due. */
const SOON_MS = 10_000
/** Throttling spends no attempt; what SES has no room for spends one each time. */
const THROTTLED = { kind: 'error' as const, status: 400, name: 'Throttling' }
const UNAVAILABLE = { kind: 'error' as const, status: 503, name: 'ServiceUnavailable' }
/** With the five of the broken e-mail, one failure less than park the provider. */
const FAILURES = FAILURES_IN_A_ROW - maxAttempts('steps') - 1

describe.concurrent('two workers whose clocks are five minutes fast and five minutes slow', () => {
  test.for(LANES_IN_FULL)(
    '%s lane: the time of the database counts for expiry, retries, delays and leases',
    {
      timeout: edition(120_000, 300_000),
    },
    async ([lane, redis], context) => {
      const { report } = fault(context, `clocks of the workers off by five minutes, ${lane} lane`)
      const deployment = await startDeployment(context, { redis, env: { WORKER_CONCURRENCY: '5', LEASE_SECONDS: '5' } })
      await deployment.ses.control({
        default: { kind: 'ok', latencyMs: 20 },
        rules: [
          { match: { localPart: 'throttled' }, next: EMAILS / 4, answer: THROTTLED },
          { match: { localPart: 'unavailable' }, next: FAILURES, answer: UNAVAILABLE },
          { match: { localPart: 'broken' }, answer: UNAVAILABLE },
          // Longer than the lease, which is renewed meanwhile.
          { match: { localPart: 'slow' }, answer: { kind: 'ok', latencyMs: 6_000 } },
        ],
      })
      const fast = await deployment.worker(clock('+5m'))
      const slow = await deployment.worker(clock('-5m'))
      expect(clockOf(fast) - Date.now()).toBeGreaterThan(OFF_MS - 30_000)
      expect(clockOf(slow) - Date.now()).toBeLessThan(-OFF_MS + 1_000)

      const post = async (count: number, body: Record<string, unknown>) => {
        const before = deployment.accepted.size
        await deployment.post(count, () => body)
        return [...deployment.accepted].slice(before)
      }
      await post(EMAILS, {})
      await post(4, { to: 'slow@example.com' })
      const delayed = await post(EMAILS / 4, { delay: DELAY_MS })
      const throttled = await post(EMAILS / 4, { to: 'throttled@example.com' })
      const unavailable = await post(FAILURES, { to: 'unavailable@example.com' })
      const broken = await post(1, { to: 'broken@example.com' })
      const inTime = await later(deployment, post, `now() + interval '4 minutes'`)
      const tooLate = await later(deployment, post, `now() - interval '1 second'`)
      await exhaust(deployment, broken)
      await deployment.drained()

      for (const waits of await waitsOf(deployment, delayed)) expectBetween(waits, DELAY_MS)
      for (const ids of [throttled, unavailable])
        for (const retry of await retriesOf(deployment, ids)) expectBetween(retry.waitedMs, retry.backoffMs)
      expect(await statusesOf(deployment, inTime)).toEqual(['SENT'])
      expect(await statusesOf(deployment, tooLate)).toEqual(['EXPIRED'])
      const dead = await deployment.db.pool.query(`select retry_history from dead_letters where outbox_id = any($1)`, [
        broken,
      ])
      expect(dead.rows).toHaveLength(broken.length)
      for (const { retry_history } of dead.rows)
        expect(
          retry_history.map((one: { attempt: number }) => one.attempt),
          'in the order in which it happened',
        ).toEqual([1, 2, 3, 4, 5])
      for (const worker of [fast, slow]) expect(worker.output(), 'each of them sent some').toMatch(/E-mail sent/)
      const undisturbed = await audit(deployment.db.pool, {
        accepted: deployment.accepted,
        log: deployment.ses.accepted(),
      })
      expect(undisturbed.broken).toEqual([])
      expect(undisturbed.figures).toMatchObject({ duplicates: 0, unknown: 0 })

      await post(4, { to: 'slow@example.com' })
      await sleep(1_000)
      fast.signal('SIGKILL')
      await deployment.drained()
      const held = await endHolds(deployment.db.pool)
      const { broken: wrong, figures } = await audit(deployment.db.pool, {
        accepted: deployment.accepted,
        log: deployment.ses.accepted(),
      })
      expect(wrong).toEqual([])
      report({
        done: `${deployment.accepted.size} e-mails, some delayed, throttled, failed, slow, about to expire or expired; then the fast worker killed`,
        checked: 'node sees the shifted time; nothing early, nothing late, no double send, leases hold',
        figures: { ...figures, 'held to the end': held },
      })
    },
  )
})

const clockOf = (worker: { output: () => string }) => Date.parse(/"timestamp":"([^"]+)"/.exec(worker.output())![1]!)

async function later(
  deployment: Deployment,
  post: (count: number, body: Record<string, unknown>) => Promise<string[]>,
  expiresAt: string,
) {
  const ids = await post(EMAILS / 4, { delay: 3_600_000 })
  await deployment.db.pool.query(`update email_outbox set expires_at = ${expiresAt} where outbox_id = any($1)`, [ids])
  await makeDue(deployment.db.pool, ids)
  return ids
}

async function exhaust({ db }: Deployment, ids: string[]): Promise<void> {
  await until(
    async () => {
      await makeDue(db.pool, ids)
      return (await db.pool.query(`select from email_outbox where outbox_id = any($1) and status <> 'DLQ'`, [ids]))
        .rowCount
    },
    open => open === 0,
    60_000,
  )
}

function expectBetween(waitedMs: number, dueMs: number): void {
  expect(waitedMs).toBeGreaterThanOrEqual(dueMs)
  expect(waitedMs).toBeLessThan(dueMs + SOON_MS)
}

const MS_BETWEEN = (from: string, to: string) =>
  `(extract(epoch from ${to}.created_at - ${from}.created_at) * 1000)::float8`

async function waitsOf({ db }: Deployment, ids: string[]): Promise<number[]> {
  const { rows } = await db.pool.query<{ ms: number }>(
    `select ${MS_BETWEEN('q', 's')} as ms from email_events q join email_events s using (outbox_id)
     where outbox_id = any($1) and q.type = 'QUEUED' and s.type = 'SENT_ATTEMPT'`,
    [ids],
  )
  expect(rows).toHaveLength(ids.length)
  return rows.map(row => row.ms)
}

/** From each scheduled retry to the attempt after it. */
async function retriesOf({ db }: Deployment, ids: string[]): Promise<{ waitedMs: number; backoffMs: number }[]> {
  const { rows } = await db.pool.query<{ waitedMs: number; backoffMs: number }>(
    `select ${MS_BETWEEN('r', 's')} as "waitedMs", (r.metadata ->> 'backoffDelay')::float8 as "backoffMs"
     from email_events r left join lateral (
       select min(created_at) as created_at from email_events
       where outbox_id = r.outbox_id and type = 'SENT_ATTEMPT' and created_at > r.created_at) s on true
     where r.outbox_id = any($1) and r.type = 'RETRY_SCHEDULED'`,
    [ids],
  )
  expect(rows.length).toBeGreaterThan(0)
  return rows
}

async function statusesOf({ db }: Deployment, ids: string[]): Promise<string[]> {
  const { rows } = await db.pool.query(`select distinct status from email_outbox where outbox_id = any($1)`, [ids])
  return rows.map(row => row.status)
}
