import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { acceptRequests } from '../../src/outbox/accept.ts'
import type { Draft, RequestToStore, StoreOutcome } from '../../src/outbox/draft.ts'
import { loadEmailsToSend } from '../../src/outbox/load.ts'
import { Batcher } from '../../src/platform/batcher.ts'
import { openDatabase } from '../../src/platform/postgres/pool.ts'
import type { Queryable } from '../../src/platform/postgres/query.ts'
import { addressKey } from '../../src/platform/text/addresses.ts'
import { hashEmail } from '../../src/platform/text/hashing.ts'
import { createUuidv7, uuidv7 } from '../../src/platform/text/uuid.ts'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'
import { accept, claim, type DraftChange, draft, recipientRecord, unit } from '../support/outbox.ts'

const DAY_MS = 86_400_000

let gateway: TestGateway
let db: Queryable
let companyId: string

beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api' })
  db = gateway.db.short
  companyId = (await gateway.company()).companyId
})
afterAll(() => gateway?.stop())
afterEach(async () => {
  expect(await disagreements(), 'e-mails whose rows do not agree').toEqual([])
})

const many = <T>(count: number, make: (index: number) => T) => Array.from({ length: count }, (_, index) => make(index))
const one = (change: DraftChange = {}) => draft(companyId, change)
const isAnswered = (outcome: StoreOutcome | Error | undefined) =>
  outcome !== undefined && !(outcome instanceof Error) && outcome.kind === 'answered'
const count = async (table: string, where = 'true', values: unknown[] = []) =>
  (await db.query(`select count(*)::int as count from ${table} where ${where}`, values)).rows[0].count as number

/** Every e-mail has one content, one QUEUED event, a to, and one place to wait in; no row belongs to nobody. */
async function disagreements(): Promise<unknown[]> {
  const { rows } = await db.query(
    `select o.outbox_id, (select count(*)::int from email_content c where c.outbox_id = o.outbox_id) as content,
       (select count(*)::int from email_events e where e.outbox_id = o.outbox_id and e.type = 'QUEUED') as events,
       (select count(*)::int from email_recipients r where r.outbox_id = o.outbox_id and r.kind = 'to') as recipients,
       (select count(*)::int from email_ready r where r.outbox_id = o.outbox_id) +
         (select count(*)::int from email_scheduled s where s.outbox_id = o.outbox_id) +
         (select count(*)::int from leases l where o.outbox_id = any(l.outbox_ids)) as places
     from email_outbox o where o.status = 'PENDING'`,
  )
  const wrong = rows.filter(row => row.content !== 1 || row.events !== 1 || row.recipients < 1 || row.places !== 1)
  const tables = [
    'email_content',
    'email_events',
    'email_recipients',
    'email_attachments',
    'email_ready',
    'email_scheduled',
  ]
  for (const table of tables) {
    const orphans = await count(table, 'outbox_id not in (select outbox_id from email_outbox)')
    if (orphans > 0) wrong.push({ table, orphans })
  }
  return wrong
}

describe('a request that Postgres refuses', () => {
  test.each<[name: string, change: DraftChange]>([
    ['NUL in the text', { text: 'a\0b' }],
    ['NUL in a header', { headers: { 'X-A': 'a\0b' } }],
    ['a priority that is none', { priority: 99 }],
    ['a policy that is none', { retryPolicy: 'never' }],
    ['an id that is none', { outboxId: 'no-uuid' }],
    ['an attachment that is no base64', { attachments: [file({ base64: '!' })] }],
    ['a time that is none', { scheduledAt: 'never' }],
    ['a document hash that is none', { recipientRecord: recipientRecord('x', { cpfCnpjHash: 'short' }) }],
  ])('(%s) harms only itself in a batch of 30', async (_, change) => {
    const units = many(30, index => unit(index === 17 ? one(change) : one({ subject: `mail ${index}` })))
    const before = await count('email_outbox')
    const outcomes = await acceptRequests(db, units)
    expect(outcomes[17]).toBeInstanceOf(Error)
    expect(outcomes.filter((_, index) => index !== 17).every(isAnswered)).toBe(true)
    expect(await count('email_outbox')).toBe(before + 29)
  })

  test('harms only itself among requests with keys, recipient records, files and times', async () => {
    const rich = (index: number) =>
      unit(
        one({
          recipientRecord: recipientRecord(`rich ${index}`),
          attachments: [file()],
          delayMs: 60_000,
          ...(index === 3 && { text: '\0' }),
        }),
        `rich ${index}`,
      )
    const outcomes = await acceptRequests(db, many(10, rich))
    expect(outcomes.map(isAnswered)).toEqual(many(10, index => index !== 3))
    expect(await count('idempotency_keys', `key like 'rich %'`)).toBe(9)
    expect(await count('recipients', `external_id like 'rich %'`)).toBe(9)
  })

  test('leaves no trace of its strict neighbours in the same request', async () => {
    const before = await count('email_outbox')
    const [outcome] = await acceptRequests(db, [unit([one(), one({ text: '\0' }), one()], 'strict')])
    expect(outcome).toBeInstanceOf(Error)
    expect(await count('email_outbox')).toBe(before)
    expect(await count('idempotency_keys', `key = 'strict'`)).toBe(0)
  })
})

function file(change: Partial<Draft['attachments'][number]> = {}): Draft['attachments'][number] {
  return { filename: 'a.txt', contentType: 'text/plain', contentId: null, base64: 'aGk=', ...change }
}

describe('everything of an e-mail', () => {
  test('is written by one statement, or nothing of it', async () => {
    const mail = one({
      cc: ['a@example.com', 'b@example.com'],
      attachments: [file(), file({ filename: 'b.txt', contentId: 'logo' })],
      replyTo: ['c@example.com'],
      headers: { 'X-Order': '1' },
      tags: ['a', 'b'],
      externalId: 'BOL-1',
      recipientRecord: recipientRecord('everything', {
        nome: 'Maria',
        cpfCnpjHash: 'ab'.repeat(32),
        cpfCnpjCipher: 'AAEC',
      }),
    })
    await accept(db, [mail])
    const of = async (table: string) =>
      (await db.query(`select * from ${table} where outbox_id = $1 order by 1, 2`, [mail.outboxId])).rows
    expect((await of('email_recipients')).map(row => [row.ordinal, row.kind, row.address, row.status])).toEqual([
      [0, 'to', 'maria@example.com', 'PENDING'],
      [1, 'cc', 'a@example.com', 'PENDING'],
      [2, 'cc', 'b@example.com', 'PENDING'],
    ])
    expect((await of('email_attachments')).map(row => [row.filename, row.content_id, String(row.content)])).toEqual([
      ['a.txt', null, 'hi'],
      ['b.txt', 'logo', 'hi'],
    ])
    expect(await of('email_content')).toMatchObject([{ reply_to: ['c@example.com'], headers: { 'X-Order': '1' } }])
    expect(await of('email_events')).toMatchObject([
      { type: 'QUEUED', metadata: { recipientHash: hashEmail('maria@example.com'), priority: 5, externalId: 'BOL-1' } },
    ])
    const [row] = await of('email_outbox')
    const { rows } = await db.query('select * from recipients where recipient_id = $1', [row.recipient_id])
    expect(rows).toMatchObject([{ external_id: 'everything', nome: 'Maria', cpf_cnpj_cipher: Buffer.from([0, 1, 2]) }])
  })
})

describe('a missing partition', () => {
  const dropAll = async () => {
    const { rows } = await db.query(
      `select inhrelid::regclass::text as child from pg_inherits join pg_class c on c.oid = inhparent where c.relkind = 'p'`,
    )
    await db.query(`drop table ${rows.map(row => row.child).join(', ')}`)
    await db.query('truncate email_ready, email_scheduled, leases')
  }

  test('is made on demand, and nothing of the batch is lost', async () => {
    await dropAll()
    const outcomes = await acceptRequests(
      db,
      many(20, () => unit(one())),
    )
    expect(outcomes.every(isAnswered)).toBe(true)
    expect(await count('email_outbox')).toBe(20)
  })

  test('is made once by several processes that miss it at the same moment', async () => {
    await dropAll()
    const batches = many(6, () =>
      acceptRequests(
        db,
        many(20, () => unit(one({ recipientRecord: recipientRecord('same') }))),
      ),
    )
    const outcomes = (await Promise.all(batches)).flat()
    expect(outcomes.filter(outcome => !isAnswered(outcome))).toEqual([])
    expect(await count('email_outbox')).toBe(120)
  })

  test('of a far day (a clock that is wrong) harms no neighbour of today', async () => {
    const farAway = one({ outboxId: createUuidv7()(Date.now() + 400 * DAY_MS) })
    const outcomes = await acceptRequests(db, [unit(one()), unit(farAway), unit(one())])
    expect([isAnswered(outcomes[0]), isAnswered(outcomes[2])]).toEqual([true, true])
  })
})

describe('1000 requests at once from two processes, with overlapping keys and recipient records', () => {
  test('make one e-mail per key, one recipient record per identity, and no deadlock', async () => {
    const KEYS = 150
    const RECIPIENTS = 40
    const processes = many(2, () => openDatabase(gateway.databaseUrl, () => {}))
    const batchers = processes.map(
      ({ short }) =>
        new Batcher<RequestToStore, StoreOutcome | Error>({
          maxItems: 64,
          concurrency: 2,
          flush: batch => acceptRequests(short, batch),
        }),
    )
    const before = await count('email_outbox')
    const shuffled = many(1000, index => (index * 7919) % 1000)
    const outcomes = await Promise.all(
      shuffled.map((value, index) => {
        const key = value % 2 === 0 ? `key ${(value / 2) % KEYS}` : null
        return batchers[index % 2]!.add(
          unit(one({ recipientRecord: recipientRecord(`recipient ${value % RECIPIENTS}`) }), key),
        ).then(outcome => ({
          key,
          outcome,
        }))
      }),
    )
    await Promise.all(processes.map(process => process.close()))

    expect(outcomes.filter(({ outcome }) => !isAnswered(outcome))).toEqual([])
    const idsOf = new Map<string, Set<string>>()
    let fresh = 0
    for (const { key, outcome } of outcomes) {
      if (outcome instanceof Error || outcome.kind !== 'answered') continue
      if (!outcome.replayed) fresh++
      const id = outcome.answer.results[0]!.outboxId
      if (key) idsOf.set(key, (idsOf.get(key) ?? new Set()).add(id))
    }
    expect(idsOf.size).toBe(KEYS)
    expect([...idsOf.values()].filter(ids => ids.size !== 1)).toEqual([])
    expect(fresh).toBe(500 + KEYS)
    expect(await count('email_outbox')).toBe(before + 500 + KEYS)
    expect(await count('idempotency_keys', `key like 'key %'`)).toBe(KEYS)
    expect(await count('recipients', `external_id like 'recipient %'`)).toBe(RECIPIENTS)
    const strangers = await count(
      'email_outbox',
      'recipient_id is not null and recipient_id not in (select recipient_id from recipients)',
    )
    expect(strangers).toBe(0)
  })
})

describe('suppression', () => {
  const suppress = (address: string, owner: string | null, expiresAt: string | null = null) =>
    db.query(
      `insert into suppression_list (company_id, email_hash, reason, expires_at) values ($1, $2, 'MANUAL', $3)`,
      [owner, hashEmail(address), expiresAt],
    )
  const resultOf = async (change: DraftChange) => {
    const [outcome] = await acceptRequests(db, [unit(one(change))])
    if (outcome instanceof Error) throw outcome
    return outcome?.kind === 'answered' ? outcome.answer.results[0]! : outcome
  }

  test('a to on the list is refused, a cc is left out and named by its hash', async () => {
    await suppress('no@example.com', null)
    expect(await resultOf({ to: 'no@example.com' })).toMatchObject({ status: 'SUPPRESSED' })
    const result = await resultOf({ cc: ['no@example.com', 'yes@example.com'] })
    expect(result).toMatchObject({ status: 'ACCEPTED', suppressed: [hashEmail('no@example.com')] })
    const { outboxId } = result as { outboxId: string }
    const { rows } = await db.query(
      'select status, suppressed from email_recipients where outbox_id = $1 order by ordinal',
      [outboxId],
    )
    expect(rows).toEqual([
      { status: 'PENDING', suppressed: false },
      { status: 'REJECTED', suppressed: true },
      { status: 'PENDING', suppressed: false },
    ])
    expect(await count('email_events', `outbox_id = $1 and metadata ? 'suppressed'`, [outboxId])).toBe(1)
  })

  test('the list of another company and what has run out do not count', async () => {
    const other = await gateway.company()
    await suppress('theirs@example.com', other.companyId)
    await suppress('past@example.com', null, '2020-01-01T00:00:00Z')
    expect(await resultOf({ to: 'theirs@example.com' })).toMatchObject({ status: 'ACCEPTED', suppressed: [] })
    expect(await resultOf({ to: 'past@example.com' })).toMatchObject({ status: 'ACCEPTED', suppressed: [] })
  })

  test.each([
    ['to', 'SUPPRESSED', { to: 'both-to@example.com' }],
    ['cc', 'ACCEPTED', { cc: ['both-cc@example.com'] }],
  ])('a %s on the list of all and on the company’s own is left out once', async (kind, status, change) => {
    const address = `both-${kind}@example.com`
    await suppress(address, null)
    await suppress(address, companyId)
    expect(await resultOf(change)).toMatchObject({ status, suppressed: [hashEmail(address)] })
  })
})

describe('with 200 000 suppressed addresses, and statements that were planned while there were none', () => {
  let single: pg.Pool
  let made = 0

  const plain = () => unit(one({ cc: ['a@example.com', 'b@example.com'] }))
  const full = () => unit(one({ recipientRecord: recipientRecord(`grown ${++made}`) }), `grown ${made}`)

  beforeAll(async () => {
    // No ANALYZE comes to the rescue during the test; in production it comes a minute late.
    const { rows } = await db.query(
      `select oid::regclass::text as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`,
    )
    for (const { name } of rows) await db.query(`alter table ${name} set (autovacuum_enabled = false)`)
    // One connection with the settings of the pool of short statements: its plans are the ones that are measured.
    single = new pg.Pool({ ...gateway.db.short.options, connectionString: gateway.databaseUrl, max: 1 })
    await acceptRequests(single, [plain()])
    await acceptRequests(single, [full()])
    await loadEmailsToSend(single, [(await accept(single, [one()]))[0]!])
    await db.query(
      `insert into suppression_list (email_hash, reason)
       select 'sha256:' || encode(sha256(i::text::bytea), 'hex'), 'MANUAL' from generate_series(1, 50000) i`,
    )
    await db.query(
      `insert into idempotency_keys select $1, 'old ' || i, '\\x00', '{}', now() + interval '1 day' from generate_series(1, 20000) i`,
      [companyId],
    )
    await db.query(
      `insert into recipients (recipient_id, company_id, identity) select gen_random_uuid(), $1, 'old ' || i from generate_series(1, 20000) i`,
      [companyId],
    )
  })
  afterAll(() => single?.end())

  /** Rows and index entries read so far, by whatever scan. */
  async function readsOf(table: string): Promise<{ scans: number; reads: number }> {
    await single.query('select pg_stat_force_next_flush()')
    await single.query('select pg_stat_clear_snapshot()')
    const { rows } = await single.query(
      `select seq_scan::int as scans, (seq_tup_read +
         (select sum(idx_tup_read) from pg_stat_user_indexes where relname = $1))::int as reads
       from pg_stat_user_tables where relname = $1`,
      [table],
    )
    return rows[0]
  }

  async function costOf(table: string, act: () => Promise<unknown>) {
    const before = await readsOf(table)
    await act()
    const after = await readsOf(table)
    return { scans: after.scans - before.scans, reads: after.reads - before.reads }
  }

  const accept50 = (make: () => RequestToStore) => async () => {
    const outcomes = await acceptRequests(single, many(50, make))
    expect(outcomes.every(isAnswered)).toBe(true)
  }
  const load50 = async () => {
    const drafts = many(50, () => one({ recipientRecord: recipientRecord(`grown ${++made}`) }))
    const emails = await loadEmailsToSend(single, await accept(db, drafts))
    expect([...emails.values()].filter(email => email.recipientRecord)).toHaveLength(50)
  }

  test.each<[what: string, table: string, act: () => Promise<unknown>]>([
    ['the suppression look-up of plain mail', 'suppression_list', accept50(plain)],
    ['the suppression look-up of mail with keys and recipient records', 'suppression_list', accept50(full)],
    ['the look-up of idempotency keys', 'idempotency_keys', accept50(full)],
    ['the upsert of recipient records', 'recipients', accept50(full)],
    ['the look-up of recipient records by a worker', 'recipients', load50],
  ])('%s reads by index, and only what it asks for', async (_, table, act) => {
    const { scans, reads } = await costOf(table, act)
    expect(scans, 'sequential scans').toBe(0)
    expect(reads, 'rows and index entries read for 50 e-mails').toBeLessThanOrEqual(500)
  })

  test('an address among them is found', async () => {
    const { rows } = await db.query(`select 'sha256:' || encode(sha256('777'::bytea), 'hex') as hash`)
    const mail = one()
    Object.assign(mail.addresses[0]!, { hash: rows[0].hash, key: addressKey(rows[0].hash) })
    const [outcome] = await acceptRequests(single, [unit(mail)])
    expect(outcome).toMatchObject({ answer: { results: [{ status: 'SUPPRESSED' }] } })
  })
})

test('what was accepted here can all be claimed', async () => {
  const waiting = await count('email_ready')
  const { claimed } = await claim(db, waiting + 1)
  expect(claimed).toHaveLength(waiting)
  expect(uuidv7() > claimed[0]!.outboxId).toBe(true)
})
