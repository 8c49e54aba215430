import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { insertCompany } from '../../src/companies/companies.ts'
import { purgeMatching, replayJobs, replayMatching, replayNamed } from '../../src/dead-letters/jobs.ts'
import { carryOutJobs } from '../../src/jobs/jobs.ts'
import { findDeadLetter, purgeOldPayloads, replayByIds } from '../../src/outbox/dead-letters.ts'
import { validateDLQEntry } from '../../src/outbox/dlq-entry.ts'
import { loadEmailsToSend } from '../../src/outbox/load.ts'
import { cancelEmail } from '../../src/outbox/schedule.ts'
import { startAttempts } from '../../src/outbox/start.ts'
import { type Database, openDatabase } from '../../src/platform/postgres/pool.ts'
import type { Queryable } from '../../src/platform/postgres/query.ts'
import { uuidv7 } from '../../src/platform/text/uuid.ts'
import { type TestCli, testCli } from '../support/cli.ts'
import { EVERY_DEAD_LETTER, makeDead, replaysOf } from '../support/dead.ts'
import { tell } from '../support/feedback.ts'
import { until } from '../support/gateway.ts'
import { accept, claim, draft, forgotten, makeDue, readEmail, typesOf, workOff } from '../support/outbox.ts'
import { BIN, cleanUp, launchShell, runCommand } from '../support/process.ts'

const NOBODYS = '01890000-0000-7000-8000-000000000000'
const MANY = 10_000
const BY = { by: 'test' }

let cli: TestCli
let db: Database

beforeAll(async () => {
  cli = await testCli()
  db = openDatabase(cli.url, () => {})
  await cli.lines('migrate')
})
/** What one test leaves waiting is not for the workers of the next. */
afterEach(() =>
  db.pool.query(
    `with gone as (delete from email_ready) update email_outbox set status = 'CANCELLED' where status = 'PENDING'`,
  ),
)
afterAll(async () => {
  await db?.close()
  await cleanUp()
})

let made = 0
const company = () => insertCompany(db.pool, { companyId: uuidv7(), name: `company-${++made}` })
const own = (companyId: string) => ({ ...EVERY_DEAD_LETTER, companyId })
/** Each once: the event, the ready row, and no entry left. */
const eachOnce = (count: number) => ({ pending: count, events: count, ready: count, dead: 0, twice: 0 })

/** What a worker gets that claims everything: ready rows, the e-mails among them that wait, and those it could start. */
async function claimAll() {
  const { leaseId, claimed } = await claim(db.pool, 20_000)
  const emails = await loadEmailsToSend(
    db.pool,
    claimed.map(one => one.outboxId),
  )
  const starts = claimed.map(({ outboxId }) => ({
    outboxId,
    leaseId,
    attemptId: uuidv7(),
    provider: 'capture',
    attempt: 1,
    attemptsBefore: 0,
    suppressedOrdinals: [],
  }))
  const started = starts.length > 0 ? await startAttempts(db.pool, starts) : []
  return { waiting: emails.size, started: started.filter(Boolean).length }
}

/** A transaction of somebody else, who takes his time. */
async function inTransaction(act: (client: Queryable, commit: () => Promise<unknown>) => Promise<void>): Promise<void> {
  const client = await db.pool.connect()
  try {
    await client.query('begin')
    await act(client, () => client.query('commit'))
  } finally {
    await client.query('rollback')
    client.release()
  }
}

const delivered = (on: Queryable, outboxId: string) =>
  tell(on, outboxId, 'm-1', { kind: 'DELIVERED', recipient: 'maria@example.com', metadata: {} })

describe('a replayed e-mail', () => {
  test('looks fresh, says what it was, and is sent', async () => {
    const { companyId } = await company()
    const [outboxId] = await makeDead(db.pool, companyId, 1, {
      status: 'FAILED',
      code: 'X',
      reason: 'broken',
      attempts: 3,
    })
    await db.pool.query(
      `update email_outbox set message_id = 'm-1', sent_at = now(), started_at = now(), expires_at = now() - interval '1 day' where outbox_id = $1`,
      [outboxId],
    )
    expect(await cli.json('dlq', 'replay', outboxId!)).toEqual({
      replayed: 1,
      skipped: { payloadPurged: 0, outcomeUnknown: 0, notFound: 0 },
    })
    const { email, events, recipients, dead } = await readEmail(db.pool, outboxId!)
    const cleared = [
      ...[
        'attempt_id',
        'started_at',
        'provider',
        'message_id',
        'duration_ms',
        'sent_at',
        'next_attempt_at',
        'lease_id',
      ],
      ...['error_code', 'error_category', 'failure_reason', 'failed_at'],
    ]
    expect(email).toMatchObject({
      status: 'PENDING',
      attempts: 0,
      ...Object.fromEntries(cleared.map(name => [name, null])),
    })
    expect(Math.abs(email.expires_at.getTime() - Date.now() - 86_400_000)).toBeLessThan(60_000)
    expect(recipients.map(row => [row.status, row.suppressed])).toEqual([
      ['PENDING', false],
      ['REJECTED', true],
    ])
    expect(dead).toBeUndefined()
    expect(events.at(-1)).toMatchObject({
      type: 'REPLAYED',
      metadata: {
        ...{ replayedBy: 'command line', previousStatus: 'FAILED', previousAttempts: 3 },
        previousFailure: { code: 'X', reason: 'broken' },
      },
    })
    await workOff(db.pool)
    expect((await readEmail(db.pool, outboxId!)).email).toMatchObject({ status: 'SENT', attempts: 1 })
  })

  test('that had expired is replayed by its id, though it has no entry', async () => {
    const { companyId } = await company()
    const [outboxId] = await makeDead(db.pool, companyId, 1, { status: 'EXPIRED', code: 'EXPIRED' })
    expect(await replayMatching(db.pool, own(companyId), BY)).toMatchObject({ replayed: 0 })
    expect(await cli.lines('dlq', 'replay', outboxId!)).toBe('Replayed 1 entry\n')
    expect(await replaysOf(db.pool, companyId)).toEqual(eachOnce(1))
    await workOff(db.pool)
    expect((await readEmail(db.pool, outboxId!)).email.status).toBe('SENT')
  })

  test('that fails again has a new entry with its history, and waits for the next replay', async () => {
    const { companyId } = await company()
    const to = 'unavailable@simulator.test'
    const [outboxId] = await accept(db.pool, [draft(companyId, { to, maxAttempts: 2, retryPolicy: 'exponential' })])
    const untilDead = async () => {
      for (let attempt = 0; attempt < 2; attempt++) {
        await makeDue(db.pool, [outboxId!])
        await db.pool.query(
          `insert into email_ready (company_id, priority, outbox_id) values ($1, 5, $2) on conflict do nothing`,
          [companyId, outboxId],
        )
        await workOff(db.pool)
      }
    }
    await untilDead()
    const first = await findDeadLetter(db.pool, outboxId!)
    expect(first).toMatchObject({ status: 'DLQ', failedAttempts: 2, replayable: true })
    expect(await replayMatching(db.pool, own(companyId), BY)).toMatchObject({ replayed: 1 })
    await untilDead()
    const second = await findDeadLetter(db.pool, outboxId!)
    expect(validateDLQEntry(second).retryHistory!.at(-1)).toMatchObject({ attempt: 2 })
    expect(second!.retryHistory!.length).toBeGreaterThanOrEqual(2)
    expect(second!.movedToDLQAt > first!.movedToDLQAt).toBe(true)
    expect(second).toMatchObject({ status: 'DLQ', failedAttempts: 2, replayable: true })
  })
})

describe('several ids', () => {
  test('are replayed as far as they can be, and the rest is named', async () => {
    const { companyId } = await company()
    const [first, second, emptied, cancelled] = await makeDead(db.pool, companyId, 4)
    await db.pool.query(`update email_content set html = null, text = null where outbox_id = $1`, [emptied])
    await db.pool.query(`update email_outbox set status = 'CANCELLED', failed_at = null where outbox_id = $1`, [
      cancelled,
    ])
    const ids = [first!, second!.toUpperCase(), second!, emptied!, cancelled!, NOBODYS]
    const { code, stdout, stderr } = await runCommand(['dlq', 'replay', ...ids], { env: cli.env })
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
    expect(stdout.trimEnd().split('\n').sort()).toEqual(
      [
        'Replayed 2 entries, skipped: 1 payload purged, 2 not found',
        `${emptied} cannot be replayed: its payload was purged.`,
        `${cancelled} is not in the dead letter queue: the e-mail is CANCELLED.`,
        `There is no e-mail ${NOBODYS}.`,
      ].sort(),
    )
    expect(await replaysOf(db.pool, companyId)).toMatchObject({ events: 2, ready: 2, dead: 2, twice: 0 })
    const audit = await db.pool.query(
      `select subject_id, a.xmin = e.xmin as "inOneTransaction" from audit_log a
       join email_events e on e.outbox_id::text = a.subject_id and e.type = 'REPLAYED'
       where a.action = 'DEAD_LETTERS_REPLAYED' and e.company_id = $1 order by subject_id`,
      [companyId],
    )
    const audited = [first, second].sort().map(subject_id => ({ subject_id, inOneTransaction: true }))
    expect(audit.rows).toEqual(audited)
  })

  test('an unknown one alone is a failure in one sentence', async () => {
    expect(await cli.fails(1, 'dlq', 'replay', NOBODYS, '--json')).toBe(`There is no e-mail ${NOBODYS}.\n`)
  })

  test('one that a second operator names at the same time is replayed once', async () => {
    const { companyId } = await company()
    const ids = await makeDead(db.pool, companyId, 50, { status: 'EXPIRED' })
    const both = await Promise.all([1, 2].map(() => replayNamed(db.pool, ids, 'test')))
    expect(both.flat().filter(one => one.outcome === 'replayed')).toHaveLength(50)
    expect(await replaysOf(db.pool, companyId)).toEqual(eachOnce(50))
  })
})

describe('ten thousand entries', () => {
  test('are replayed by one command', async () => {
    const { companyId, name } = await company()
    await makeDead(db.pool, companyId, MANY)
    const startedMs = performance.now()
    const answer = await cli.json('dlq', 'replay', '--company', name)
    console.log(
      `dlq replay of ${MANY} entries: ${((performance.now() - startedMs) / 1000).toFixed(1)} s, process included`,
    )
    expect(answer).toEqual({ replayed: MANY, skipped: { payloadPurged: 0, outcomeUnknown: 0, notFound: 0 } })
    expect(await replaysOf(db.pool, companyId)).toEqual(eachOnce(MANY))
  })

  test('are each replayed once when the first command is killed in the middle', async () => {
    const { companyId, name } = await company()
    await makeDead(db.pool, companyId, MANY)
    await slowly(async () => {
      const child = spawn(process.execPath, [BIN, 'dlq', 'replay', '--company', name], {
        env: { ...process.env, ...cli.env },
      })
      const gone = once(child, 'exit')
      const events = async () => (await replaysOf(db.pool, companyId)).events
      await until(events, count => count >= 1_000)
      child.kill('SIGKILL')
      expect(await gone).toEqual([null, 'SIGKILL'])
    })
    const left = await until(
      () => replaysOf(db.pool, companyId),
      ({ events, dead }) => events + dead === MANY,
    )
    expect(left).toMatchObject({ ready: left.events, pending: left.events, twice: 0 })
    expect(left.events).toBeLessThan(MANY)
    expect(await cli.json('dlq', 'replay', '--company', name)).toMatchObject({ replayed: left.dead })
    expect(await replaysOf(db.pool, companyId)).toEqual(eachOnce(MANY))
  })

  test('are each replayed once by two commands and a caller of the function at once', async () => {
    const { companyId, name } = await company()
    await makeDead(db.pool, companyId, MANY)
    const command = () => cli.json<{ replayed: number }>('dlq', 'replay', '--company', name)
    const all = await Promise.all([command(), command(), replayMatching(db.short, own(companyId), BY)])
    expect(all.reduce((sum, one) => sum + one.replayed, 0)).toBe(MANY)
    expect(await replaysOf(db.pool, companyId)).toEqual(eachOnce(MANY))
  })

  test.each([
    ['SIGKILL', 'is carried out to the end by a gateway', true],
    ['SIGINT', 'stays as it is', false],
  ] as const)('after %s, the rest of a command %s', async (signal, _what, isCarriedOut) => {
    const { companyId, name } = await company()
    await makeDead(db.pool, companyId, 1_000)
    const ended = await slowly(async () => {
      const child = launchShell(`exec ${process.execPath} ${BIN} dlq replay --company "${name}"`, { env: cli.env })
      const events = async () => (await replaysOf(db.pool, companyId)).events
      await until(events, count => count >= 200)
      child.signal(signal, 'group')
      return { ...(await child.exited), errors: child.errors() }
    })
    const left = await until(
      () => replaysOf(db.pool, companyId),
      ({ events, dead }) => events + dead === 1_000,
    )
    expect(left.dead).toBeGreaterThan(0)
    if (!isCarriedOut)
      expect(ended).toMatchObject({ code: 1, errors: `Stopped after ${left.events} of 1000; they stay done.\n` })
    // The jobs of other tests that were killed, too.
    await carryOutJobs(db.pool, [replayJobs], { log: console, workMs: 30_000 })
    expect(await replaysOf(db.pool, companyId)).toMatchObject({ ...(isCarriedOut ? eachOnce(1_000) : left), twice: 0 })
  })

  /** Every batch takes a tenth of a second longer: time enough to be killed in. */
  async function slowly<T>(act: () => Promise<T>): Promise<T> {
    await db.pool.query(`
      create function be_slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.1); return null; end $$;
      create trigger be_slow after delete on dead_letters for each statement execute function be_slow();`)
    return act().finally(() => db.pool.query('drop trigger be_slow on dead_letters; drop function be_slow'))
  }
})

describe('filters, limits and bounds', () => {
  test('replay what they name and leave the rest', async () => {
    const { companyId } = await company()
    await makeDead(db.pool, companyId, 3, { status: 'REJECTED', code: 'A', agoSeconds: 600 })
    await makeDead(db.pool, companyId, 4, { status: 'FAILED', code: 'B', agoSeconds: 300 })
    await makeDead(db.pool, companyId, 5, { code: 'B', agoSeconds: 100 })
    const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000).toISOString()
    const replay = (change: object, limit?: number) =>
      replayMatching(db.pool, { ...own(companyId), ...change }, { ...BY, ...(limit && { limit }) })
    expect(await replay({ code: 'A', since: ago(400) })).toMatchObject({ replayed: 0 })
    expect(await replay({ status: 'FAILED', until: ago(200) }, 1)).toMatchObject({ replayed: 1 })
    expect(await replay({ code: 'B', until: ago(200) })).toMatchObject({ replayed: 3 })
    expect(await replay({ until: ago(-3_600) }, 2)).toMatchObject({ replayed: 2 })
    expect(await replay({})).toMatchObject({ replayed: 6 })
    expect(await replaysOf(db.pool, companyId)).toEqual(eachOnce(12))
  })

  test('leave out what may have been sent already, unless its code is named', async () => {
    const { companyId, name } = await company()
    await makeDead(db.pool, companyId, 2)
    const unknown = await makeDead(db.pool, companyId, 4, { status: 'FAILED', code: 'SEND_OUTCOME_UNKNOWN' })
    await makeDead(db.pool, companyId, 1, { code: 'SEND_OUTCOME_UNKNOWN', agoSeconds: 3_600 })
    const [emptied] = await makeDead(db.pool, companyId, 1, { code: 'SEND_OUTCOME_UNKNOWN' })
    await db.pool.query('update dead_letters set original_data = null where outbox_id = $1', [emptied])
    await db.pool.query(
      `with codeless as (update email_outbox set error_code = null where company_id = $1 and error_code = '421')
       update dead_letters set last_failure_code = null where company_id = $1 and last_failure_code = '421'`,
      [companyId],
    )
    const mine = ['dlq', 'replay', '--company', name]
    expect(await cli.json(...mine, '--status', 'failed')).toEqual({
      ...{ replayed: 0, skipped: { payloadPurged: 0, outcomeUnknown: 4, notFound: 0 } },
    })
    expect(await cli.lines(...mine, '--all')).toBe(
      'Replayed 2 entries, skipped: 1 payload purged, 5 that may have been sent already (--code SEND_OUTCOME_UNKNOWN replays them)\n',
    )
    expect(await replaysOf(db.pool, companyId)).toMatchObject({ pending: 2, events: 2, dead: 6 })
    expect(await cli.json('dlq', 'replay', unknown[0]!)).toMatchObject({ replayed: 1 })
    expect(await cli.json(...mine, '--code', 'SEND_OUTCOME_UNKNOWN', '--since', '30m')).toEqual({
      ...{ replayed: 3, skipped: { payloadPurged: 1, outcomeUnknown: 0, notFound: 0 } },
    })
    expect(await cli.lines(...mine, '--all', '--code', 'SEND_OUTCOME_UNKNOWN')).toBe(
      'Replayed 1 entry, skipped: 1 payload purged\n',
    )
    expect(await replaysOf(db.pool, companyId)).toMatchObject({ pending: 7, events: 7, dead: 1, twice: 0 })
  })

  test('what fails again during the replay is not replayed a second time', async () => {
    const { companyId } = await company()
    const drafts = Array.from({ length: 60 }, () => draft(companyId, { to: 'reject@simulator.test' }))
    await accept(db.pool, drafts)
    await workOff(db.pool)
    let replaying = true
    const working = (async () => {
      while (replaying) await workOff(db.pool, 20)
    })()
    const steps: number[] = []
    const summary = await replayMatching(db.pool, own(companyId), { ...BY, onProgress: done => steps.push(done) })
    replaying = false
    await working
    while ((await workOff(db.pool)) > 0);
    expect(summary.replayed).toBe(60)
    expect(steps.at(-1)).toBe(60)
    expect(await replaysOf(db.pool, companyId)).toMatchObject({ events: 60, twice: 0, dead: 60 })
  })
})

describe('a replay meets', () => {
  test('the provider that reports a delivery: no deadlock, and nothing that was delivered is sent again', async () => {
    const { companyId } = await company()
    const ids = await makeDead(db.pool, companyId, 300)
    // As many at once as there are connections: more would wait for one, and on a slow machine too long.
    const left = [...ids]
    const report = async () => {
      for (let id = left.pop(); id; id = left.pop()) await delivered(db.pool, id)
    }
    const reports = Array.from({ length: 8 }, report)
    const [summary] = await Promise.all([replayMatching(db.short, own(companyId), BY), ...reports])
    const { pending, events, dead, twice } = await replaysOf(db.pool, companyId)
    expect({ pending, events, dead, twice }).toEqual({ pending: 0, events: summary.replayed, dead: 0, twice: 0 })
    expect(await claimAll()).toEqual({ waiting: 0, started: 0 })
    expect(await replayMatching(db.pool, own(companyId), BY)).toMatchObject({ replayed: 0 })
  })

  test('reports on every recipient, round after round: no deadlock, and one state in the end', async () => {
    const { companyId } = await company()
    const counts = { replayedFirst: 0, reportedFirst: 0 }
    const report = (id: string, kind: 'DELIVERED' | 'COMPLAINED', recipient: string) =>
      tell(db.pool, id, 'm-1', { kind, recipient, metadata: {} })
    for (let round = 0; round < 12; round++) {
      const ids = await makeDead(db.pool, companyId, 20)
      // A replay is one statement, a report is several: without a start it would always come second.
      const first = round % 2 === 0 ? [] : ids.slice(0, 3).map(id => report(id, 'DELIVERED', 'maria@example.com'))
      await first[0]
      const backwards = [...ids].reverse()
      const [summary, named] = await Promise.all([
        replayMatching(db.short, own(companyId), BY),
        replayNamed(db.short, backwards, 'test'),
        ...first,
        ...ids.map(id => report(id, 'DELIVERED', 'maria@example.com')),
        ...backwards.map(id => report(id, 'DELIVERED', 'suppressed@example.com')),
        ...backwards.map(id => report(id, 'COMPLAINED', 'maria@example.com')),
      ])
      const replayed = summary.replayed + named.filter(one => one.outcome === 'replayed').length
      counts.replayedFirst += replayed
      counts.reportedFirst += ids.length - replayed
      const { rows } = await db.pool.query(
        `select o.status, r.status as person, count(*)::int as emails from email_outbox o join email_recipients r using (outbox_id)
         where o.outbox_id = any($1) and r.kind = 'to' group by 1, 2`,
        [ids],
      )
      expect(rows).toEqual([{ status: 'COMPLAINED', person: 'COMPLAINED', emails: 20 }])
    }
    const { pending, events, dead, twice } = await replaysOf(db.pool, companyId)
    expect({ pending, events, dead, twice }).toEqual({ pending: 0, events: counts.replayedFirst, dead: 0, twice: 0 })
    expect(counts).toEqual({ replayedFirst: expect.toSatisfy(isSome), reportedFirst: expect.toSatisfy(isSome) })
    expect(await claimAll()).toEqual({ waiting: 0, started: 0 })
  })

  const isSome = (count: number) => count > 0

  test("a report that holds the e-mail's row: it is passed over, looked at again, and not replayed", async () => {
    const { companyId } = await company()
    const [held, free] = await makeDead(db.pool, companyId, 2)
    await inTransaction(async (client, commit) => {
      await delivered(client, held!)
      const replaying = replayMatching(db.pool, own(companyId), BY)
      const naming = replayNamed(db.pool, [held!], 'test')
      await until(
        () => readEmail(db.pool, free!),
        stored => typesOf(stored).includes('REPLAYED'),
      )
      await commit()
      expect(await replaying).toMatchObject({ replayed: 1 })
      expect(await naming).toEqual([{ outboxId: held, outcome: 'not-found', status: 'DELIVERED' }])
    })
    const stored = await readEmail(db.pool, held!)
    expect([stored.email.status, stored.dead, typesOf(stored).includes('REPLAYED')]).toEqual([
      'DELIVERED',
      undefined,
      false,
    ])
    expect(await claimAll()).toEqual({ waiting: 1, started: 1 })
  })

  test('a report that came to nothing: what it held is replayed once it lets go', async () => {
    const { companyId } = await company()
    const [held, free] = await makeDead(db.pool, companyId, 2)
    let replaying: ReturnType<typeof replayMatching> | undefined
    await inTransaction(async client => {
      await delivered(client, held!)
      replaying = replayMatching(db.pool, own(companyId), BY)
      await until(
        () => readEmail(db.pool, free!),
        stored => typesOf(stored).includes('REPLAYED'),
      )
      expect((await readEmail(db.pool, held!)).email.status).toBe('DLQ')
    })
    expect(await replaying).toMatchObject({ replayed: 2 })
    expect(await replaysOf(db.pool, companyId)).toEqual(eachOnce(2))
  })

  test('a report that comes while it holds the e-mail: the report waits, and ends what was replayed', async () => {
    const { companyId } = await company()
    const [outboxId] = await makeDead(db.pool, companyId, 1)
    await inTransaction(async (client, commit) => {
      expect(await replayByIds(client, [outboxId!], 'test')).toMatchObject([{ outcome: 'replayed' }])
      const report = delivered(db.pool, outboxId!)
      await until(reportsThatWait, count => count === 1)
      await commit()
      await report
    })
    const { email, recipients, dead } = await readEmail(db.pool, outboxId!)
    expect([email.status, recipients[0].status, dead]).toEqual(['DELIVERED', 'DELIVERED', undefined])
    expect(await claimAll()).toEqual({ waiting: 0, started: 0 })
  })

  /** Looked at once, and put off. */
  async function reportsThatWait(): Promise<number> {
    const { rows } = await db.pool.query(
      `select count(*)::int as count from provider_events where state = 'waiting' and next_try_at > received_at`,
    )
    return rows[0].count
  }

  test('a cancel: either comes second and finds what the other left', async () => {
    const { companyId } = await company()
    const ids = await makeDead(db.pool, companyId, 200)
    const cancels = ids.map(id => cancelEmail(db.pool, id, companyId, 'test'))
    const [outcomes] = await Promise.all([Promise.all(cancels), replayMatching(db.short, own(companyId), BY)])
    const cancelled = outcomes.filter(outcome => outcome === 'done').length
    const { pending, events } = await replaysOf(db.pool, companyId)
    expect({ pending, events }).toEqual({ pending: 200 - cancelled, events: 200 })
    expect(await forgotten(db.pool)).toEqual([])
    expect(await claimAll()).toEqual({ waiting: pending, started: pending })
  })

  test('a purge of payloads and a purge of entries: what is replayed has its content', async () => {
    const { companyId } = await company()
    await makeDead(db.pool, companyId, 2_000, { agoSeconds: 8 * 86_400 })
    const [replayed, emptied, purged] = await Promise.all([
      replayMatching(db.short, own(companyId), BY),
      purgeOldPayloads(db.pool, 7, 50),
      purgeMatching(db.pool, own(companyId), { ...BY, limit: 300 }),
    ])
    const { events, dead, twice } = await replaysOf(db.pool, companyId)
    expect({ events, dead, twice }).toEqual({
      events: replayed.replayed,
      dead: 2_000 - replayed.replayed - purged.purged,
      twice: 0,
    })
    const { rows } = await db.pool.query(
      `select count(*)::int as empty from email_outbox o join email_content c using (outbox_id)
       where o.company_id = $1 and o.status = 'PENDING' and c.html is null`,
      [companyId],
    )
    expect(rows).toEqual([{ empty: 0 }])
    expect(emptied).toBeGreaterThanOrEqual(dead)
  })
})
