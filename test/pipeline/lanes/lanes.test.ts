import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { pauseCompany, resumeCompany, updateCompany } from '../../../src/companies/companies.ts'
import { recoverOrphans } from '../../../src/outbox/orphans.ts'
import { notifyProcesses } from '../../../src/platform/postgres/notifications.ts'
import { readSettings } from '../../../src/settings/config.ts'
import { startTestGateway, type TestGateway, until } from '../../support/gateway.ts'
import { type HoldingResend, startHoldingResend } from '../../support/holding-resend.ts'
import { rows, sendOk, sleep } from '../../support/mail.ts'
import { accept, type DraftChange, draft, forgotten, makeDue, readEmail, typesOf } from '../../support/outbox.ts'
import { type RedisServer, startRedis } from '../../support/redis-server.ts'
import { startWorker, type TestWorker } from '../../support/worker.ts'

const SENT = ['QUEUED', 'RECEIVED', 'VALIDATED', 'SENT_ATTEMPT', 'SENT']
const many = <T>(count: number, make: (index: number) => T) => Array.from({ length: count }, (_, index) => make(index))

let redis: RedisServer
let resend: HoldingResend

beforeAll(async () => {
  redis = await startRedis()
  resend = await startHoldingResend(5)
})
afterAll(async () => {
  await resend?.close()
  await redis?.close()
})

test('Redis may be reached in clear or by TLS; anything else is refused by name', () => {
  for (const REDIS_URL of ['redis://127.0.0.1:6379', 'rediss://user:secret@cache.example.com:6380/2'])
    expect(readSettings({ REDIS_URL })).toMatchObject({ REDIS_URL })
  for (const REDIS_URL of ['http://127.0.0.1', 'rediss:', 'localhost:6379'])
    expect(() => readSettings({ REDIS_URL })).toThrow(/REDIS_URL/)
})

/** One contract, two lanes. Databases of Redis: one for the whole gateway, one for the workers. */
describe.each([
  ['direct', () => ({}), () => ({})],
  ['BullMQ', () => ({ REDIS_URL: `${redis.url}/1` }), () => ({ REDIS_URL: `${redis.url}/2` })],
])('the %s lane', (_, forGateway, forWorkers) => {
  let api: TestGateway
  const workers: TestWorker[] = []

  beforeAll(async () => {
    api = await startTestGateway({ role: 'api' })
    await api.db.pool.query(`
      create table claims (place bigserial, at timestamptz default clock_timestamp(), kind text, outbox_ids uuid[], left_out uuid[]);
      -- left_out: whose mail waits although nothing else of theirs is in flight. What was just sent still is: the lane learns of it when
      -- the job has left the queue, a moment after Postgres has.
      create function note_claim() returns trigger language plpgsql as $$ begin
        insert into claims (kind, outbox_ids, left_out) select new.kind, new.outbox_ids, array(
          select company_id from companies c where (exists (select from email_ready r where r.company_id = c.company_id)
              or exists (select from email_outbox o where o.outbox_id = any(new.outbox_ids) and o.company_id = c.company_id))
            and not exists (select from leases l join email_outbox o on o.outbox_id = any(l.outbox_ids) where l.lease_id <> new.lease_id
              and o.company_id = c.company_id and o.status in ('PENDING', 'PROCESSING', 'RETRY_SCHEDULED'))
            and not exists (select from email_outbox o where o.company_id = c.company_id and o.sent_at > clock_timestamp() - interval '250 ms'));
        return null; end $$;
      create trigger note_claim after insert on leases for each row execute function note_claim();`)
  })
  afterAll(() => api?.stop())
  afterEach(async () => {
    resend.release()
    await Promise.all(workers.splice(0).map(one => one.stop()))
    const forgottenIds = await forgotten(api.db.pool)
    // Also what a failed test left open: the next one begins with nothing.
    await api.db.pool.query(`delete from email_ready; delete from leases; delete from claims;
      delete from email_outbox where status in ('PENDING', 'PROCESSING', 'RETRY_SCHEDULED')`)
    expect(forgottenIds, 'e-mails that nothing would ever wake').toEqual([])
  })

  async function work(env: Record<string, string> = {}): Promise<TestWorker> {
    const worker = await startWorker(api, { ...forWorkers(), ...env })
    workers.push(worker)
    return worker
  }
  const company = async () => (await api.company()).companyId

  const put = (companyId: string, count: number, change: DraftChange = {}) => putAll([companyId], count, change)

  /** So many of each company, with one commit: a claim sees all of them or none. */
  async function putAll(companyIds: string[], count: number, change: DraftChange = {}): Promise<string[]> {
    // Without HTML nothing is looked at on another thread, so that what was claimed first is sent first.
    const drafts = companyIds.flatMap(id => many(count, () => draft(id, { html: null, text: 'Hi', ...change })))
    const ids = await accept(api.db.pool, drafts)
    await notifyProcesses(api.db.pool, 'email_ready', 'another process')
    return ids
  }
  const statuses = async (ids: string[]): Promise<string[]> =>
    (await rows(api, 'select status from email_outbox where outbox_id = any($1)', [ids])).map(row => row.status)
  const untilAll = (ids: string[], status: string) =>
    until(
      () => statuses(ids),
      all => all.every(one => one === status),
      30_000,
    )
  /** What the fair order gave out: to a worker, or to the queue where there is one. */
  const claims = async (): Promise<{ outbox_ids: string[]; left_out: string[] }[]> => {
    const all = await rows(api, 'select kind, outbox_ids, left_out from claims order by place')
    const dispatched = all.filter(one => one.kind === 'dispatch')
    return dispatched.length > 0 ? dispatched : all
  }
  const claimedInOrder = async (): Promise<string[]> => (await claims()).flatMap(one => one.outbox_ids)
  /** The longest run of each company; where it is more than a turn, no company was left out that had nothing in flight. */
  async function longestRuns(): Promise<Map<string, number>> {
    const longest = new Map<string, number>()
    let [last, run] = ['', 0]
    for (const { outbox_ids, left_out } of await claims()) {
      const waiting = new Set(left_out)
      for (const id of outbox_ids) {
        const owner = await ownerOf(id)
        run = owner === last ? run + 1 : 1
        last = owner
        longest.set(owner, Math.max(run, longest.get(owner) ?? 0))
        waiting.delete(owner)
        if (run > 3) expect([...waiting], `${run} in a row`).toEqual([])
      }
    }
    return longest
  }
  const arrivedFrom = (ids: string[]) =>
    resend.arrived.filter(one => ids.includes(one.outboxId)).map(one => one.outboxId)

  test('everything that was accepted is sent, each exactly once, with its events in order', async () => {
    const gateway = await startTestGateway({ env: { ...forGateway(), WORKER_CONCURRENCY: '20' } })
    try {
      const companies = await Promise.all(many(4, () => gateway.company()))
      const ids = await Promise.all(many(120, index => sendOk(gateway, companies[index % 4]!)))
      await until(
        async () => {
          // At every moment each is ready, leased or settled: none is orphaned.
          await rows(gateway, 'delete from orphan_checks')
          expect(await recoverOrphans(gateway.db.pool, 0)).toEqual([])
          return rows(gateway, `select from email_outbox where status <> 'SENT'`)
        },
        open => open.length === 0,
      )
      const inbox = await rows(gateway, 'select outbox_id from capture_inbox')
      expect(inbox.map(row => row.outbox_id).toSorted()).toEqual(ids.toSorted())
      const sequences = await rows(
        gateway,
        'select array_agg(type order by created_at, event_id) as types from email_events group by outbox_id',
      )
      for (const { types } of sequences) expect(types).toEqual(SENT)
    } finally {
      await gateway.stop()
    }
  })

  test('no more are sent at once than there are slots, and all of them are used', async () => {
    resend.hold()
    const slow = { to: 'slow@example.com' }
    const ids = (await Promise.all(many(3, async () => put(await company(), 20, slow)))).flat()
    await work({ ...resend.env, WORKER_CONCURRENCY: '6' })
    await until(
      async () => resend.arrived.length,
      count => count === 6,
    )
    resend.release()
    await untilAll(ids, 'SENT')
    expect(resend.most()).toBe(6)
  })

  test('the order is fair: no company gets more than three in a row while another waits with nothing in flight, and the urgent go first', async () => {
    resend.hold()
    const [one, other] = [await company(), await company()]
    const urgent = many(12, index => 1 + ((index * 7) % 10))
    const ids = (
      await Promise.all([one, other].map(id => Promise.all(urgent.map(priority => put(id, 1, { priority })))))
    ).map(own => own.flat())
    await work({ ...resend.env, WORKER_CONCURRENCY: '1' })
    await untilAll(ids.flat(), 'SENT')
    const order = await claimedInOrder()
    expect(order.toSorted()).toEqual(ids.flat().toSorted())
    await longestRuns()
    for (const own of ids) {
      const priorities = order.filter(id => own.includes(id)).map(id => urgent[own.indexOf(id)])
      expect(priorities).toEqual(priorities.toSorted((a, b) => a! - b!))
    }
    // One that takes long to be read is overtaken by those that are claimed meanwhile.
    const moved = resend.arrived.map(({ outboxId }, place) => Math.abs(order.indexOf(outboxId) - place))
    expect(moved.reduce((sum, places) => sum + places, 0) / moved.length, moved.join(' ')).toBeLessThanOrEqual(2)
  })

  test('new mail wakes an idle lane at once, without waiting until it looks by itself', async () => {
    await work()
    const companyId = await company()
    const waitedMs: number[] = []
    for (let time = 0; time < 6; time++) {
      await sleep(40)
      const [outboxId] = await put(companyId, 1)
      await untilAll([outboxId!], 'SENT')
      const { email } = await readEmail(api.db.pool, outboxId!)
      waitedMs.push(email.sent_at.getTime() - email.created_at.getTime())
    }
    expect(Math.min(...waitedMs), waitedMs.join(' ')).toBeLessThan(120)
  })

  test('a retry comes by itself, and a later one is a new attempt', async () => {
    await work()
    const [outboxId] = await put(await company(), 1, { to: 'unavailable@simulator.test' })
    await until(
      () => readEmail(api.db.pool, outboxId!),
      ({ email }) => email.attempts === 2 && email.status === 'RETRY_SCHEDULED',
    )
    await rows(api, `update email_recipients set address = 'maria@example.com' where outbox_id = $1`, [outboxId])
    await makeDue(api.db.pool, [outboxId!])
    await untilAll([outboxId!], 'SENT')
    const stored = await readEmail(api.db.pool, outboxId!)
    expect(stored.inbox).toHaveLength(1)
    expect(typesOf(stored).filter(type => type === 'SENT_ATTEMPT')).toHaveLength(3)
  })

  test('what waits for a slot can be cancelled or postponed, and is not sent', async () => {
    resend.hold()
    const companyId = await company()
    const [slow] = await put(companyId, 1, { to: 'slow@example.com' })
    await work({ ...resend.env, WORKER_CONCURRENCY: '1' })
    await until(
      async () => arrivedFrom([slow!]),
      arrived => arrived.length === 1,
    )
    const waiting = await put(await company(), 3)
    await until(
      () => rows(api, 'select from email_ready'),
      ready => ready.length < 3,
    )
    const [cancelled, postponed, sent] = waiting
    const { apiKey } = await api.key(await ownerOf(cancelled!), { scopes: ['send', 'read', 'manage'] })
    const call = (method: string, path: string, body?: unknown) => api.call({ apiKey }, method, path, body)
    expect((await call('POST', `/v1/email/${cancelled}/cancel`)).status).toBe(200)
    const scheduledAt = new Date(Date.now() + 3_600_000).toISOString()
    expect((await call('PATCH', `/v1/email/${postponed}`, { scheduledAt })).status).toBe(200)
    resend.release()
    await untilAll([slow!, sent!], 'SENT')
    await sleep(100)
    expect(arrivedFrom(waiting)).toEqual([sent])
    expect(await statuses([cancelled!, postponed!])).toEqual(expect.arrayContaining(['CANCELLED', 'PENDING']))
  })
  const ownerOf = async (outboxId: string) =>
    (await rows(api, 'select company_id from email_outbox where outbox_id = $1', [outboxId]))[0].company_id

  test('a company whose recipients hang does not fill the lane: mail of another goes out promptly', async () => {
    resend.hold()
    await work({ ...resend.env, WORKER_CONCURRENCY: '10' })
    const hanging = await put(await company(), 50, { to: 'slow@example.com' })
    await until(
      async () => arrivedFrom(hanging),
      arrived => arrived.length >= 8,
    )
    const quiet = await company()
    for (let time = 0; time < 3; time++) {
      const [outboxId] = await put(quiet, 1)
      await until(
        () => statuses([outboxId!]),
        ([status]) => status === 'SENT',
        2_000,
      )
    }
    expect(arrivedFrom(hanging).length).toBeLessThan(10)
    resend.release()
    await untilAll(hanging, 'SENT')
  })

  test('with two workers, a company that has its share in flight is passed over; one that has nothing in flight never waits for more than a turn', async () => {
    resend.hold()
    for (let worker = 0; worker < 2; worker++) await work({ ...resend.env, WORKER_CONCURRENCY: '10' })
    const hanging = await put(await company(), 60, { to: 'slow@example.com' })
    await until(
      async () => arrivedFrom(hanging),
      arrived => arrived.length >= 8,
    )
    const [busy, late] = [await company(), await company()]
    await untilAll(await put(busy, 12), 'SENT')
    await untilAll(await putAll([busy, late], 12), 'SENT')
    expect((await longestRuns()).get(busy), 'while the first one has mail ready').toBeGreaterThan(3)
    resend.release()
    await untilAll(hanging, 'SENT')
  })

  test('a paused company waits, others do not, and it goes on when resumed', async () => {
    await work()
    const [paused, other] = [await company(), await company()]
    await pauseCompany(api.db.pool, paused, 'by hand')
    const held = await put(paused, 3)
    await untilAll(await put(other, 3), 'SENT')
    await sleep(100)
    expect(await statuses(held)).toEqual(['PENDING', 'PENDING', 'PENDING'])
    await resumeCompany(api.db.pool, paused)
    await untilAll(held, 'SENT')
  })

  test('a company with a rate is served at that rate, and nobody waits for it', async () => {
    const [slow, other] = [await company(), await company()]
    await updateCompany(api.db.pool, slow, { ratePerSecond: 10 })
    const limited = await put(slow, 25)
    await work()
    await untilAll(await put(other, 10), 'SENT')
    expect((await statuses(limited)).filter(status => status === 'SENT').length).toBeLessThan(25)
    await untilAll(limited, 'SENT')
    // By the claims, which keep the rate: what happens afterwards takes as long as the machine needs.
    const [{ seconds }] = await rows(
      api,
      `select extract(epoch from max(at) - min(at))::float8 as seconds from claims
       where outbox_ids && (select array_agg(outbox_id) from email_outbox where company_id = $1)
         and kind = (select max(kind) filter (where kind = 'dispatch' or not exists (select from claims where kind = 'dispatch')) from claims)`,
      [slow],
    )
    expect(seconds, 'a second’s worth at once, fifteen more at ten a second').toBeGreaterThan(1.3)
    expect(seconds).toBeLessThan(10)
  })

  test('an attempt that waits for its parked provider is claimed now and then, not in a busy loop', async () => {
    await rows(
      api,
      `delete from providers where name = 'resend';
       insert into providers (name, state, opened_at, reason_code, probe_at) values ('resend', 'open', now(), 'X', now() + interval '1 hour')`,
    )
    const worker = await work({ ...resend.env, EMAIL_PROVIDER: 'resend,smtp', SMTP_URL: 'smtp://127.0.0.1:9' })
    await sleep(300)
    const [outboxId] = await accept(api.db.pool, [draft(await company(), { delayMs: 3_600_000 })])
    await rows(
      api,
      `update email_outbox set started_at = now(), attempts = 1, attempt_id = gen_random_uuid(), provider = 'resend' where outbox_id = $1`,
      [outboxId],
    )
    await makeDue(api.db.pool, [outboxId!])
    await until(claimedInOrder, claimed => claimed.length > 0)
    await sleep(700)
    await worker.stop()
    expect((await claimedInOrder()).length).toBeLessThan(8)
    await rows(api, `delete from providers; delete from email_outbox where outbox_id = '${outboxId}'`)
  })

  test('stopping finishes what is being sent and returns the rest to ready: nothing unknown, nothing lost, no lease left', async () => {
    resend.hold()
    const slow = await put(await company(), 2, { to: 'slow@example.com', priority: 1 })
    const worker = await work({ ...resend.env, WORKER_CONCURRENCY: '2' })
    await until(
      async () => arrivedFrom(slow),
      arrived => arrived.length === 2,
    )
    const rest = await put(await company(), 20)
    await sleep(50)
    const stopping = worker.stop()
    await sleep(50)
    resend.release()
    await stopping
    expect(await statuses(slow)).toEqual(['SENT', 'SENT'])
    expect(new Set(await statuses(rest))).toEqual(new Set(['PENDING']))
    expect(
      await rows(api, `select attempts from email_outbox where outbox_id = any($1) and attempts > 0`, [rest]),
    ).toEqual([])
    expect(await rows(api, `select outbox_ids from leases where kind = 'work'`)).toEqual([])
    await work(resend.env)
    await untilAll(rest, 'SENT')
    expect(new Set(arrivedFrom(rest)).size, 'each once').toBe(arrivedFrom(rest).length)
  })
})
