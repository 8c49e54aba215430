import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { returnUncertainClaims } from '../../../src/outbox/claim.ts'
import { returnExpiredLeases } from '../../../src/outbox/leases.ts'
import { type Settlement, settleAttempts } from '../../../src/outbox/settle.ts'
import type { Queryable } from '../../../src/platform/postgres/query.ts'
import { uuidv7 } from '../../../src/platform/text/uuid.ts'
import { startTestGateway, type TestGateway, until } from '../../support/gateway.ts'
import { sleep } from '../../support/mail.ts'
import { accept, claim, draft, EMPTY_OUTBOX, expireLeases, readEmail, start, typesOf } from '../../support/outbox.ts'

let gateway: TestGateway
let db: Queryable
let companyId: string
let late: pg.Client

beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api' })
  db = gateway.db.short
  companyId = (await gateway.company()).companyId
  late = new pg.Client({ connectionString: gateway.databaseUrl })
  await late.connect()
})
afterAll(async () => {
  await late?.end()
  await gateway?.stop()
})
beforeEach(async () => {
  await db.query(EMPTY_OUTBOX)
})

test('an e-mail that its worker parks at the very moment its lease is returned is ready once, with its attempt not counted', async () => {
  const [outboxId] = await accept(db, [draft(companyId)])
  const lease = await claim(db, 1)
  await start(db, lease)
  await expireLeases(db)
  const parked: Settlement = {
    outboxId: outboxId!,
    guard: { kind: 'started', leaseId: lease.leaseId },
    status: 'PENDING',
    attempts: 0,
    events: [{ type: 'RETRY_SCHEDULED', metadata: { parked: true } }],
  }
  await late.query('begin')
  expect(await settleAttempts(late as unknown as Queryable, [parked])).toEqual([true])
  const returning = returnExpiredLeases(db, { all: false, idempotentProviders: [], graceSeconds: 120 })
  await sleep(100)
  await late.query('commit')
  expect(await returning).toEqual({
    unstarted: 0,
    unknown: 0,
    notTaken: 0,
    lost: { unstarted: [], unknown: [] },
  })
  const stored = await readEmail(db, outboxId!)
  expect(stored.email).toMatchObject({ status: 'PENDING', attempts: 0 })
  expect(typesOf(stored)).toEqual(['QUEUED', 'RECEIVED', 'VALIDATED', 'SENT_ATTEMPT', 'RETRY_SCHEDULED'])
  expect((await claim(db, 10)).claimed).toHaveLength(1)
})

test('a claim that still waits for its turn when its connection is lost is returned all the same', async () => {
  await accept(db, [draft(companyId)])
  const leaseId = uuidv7()
  const lost = new pg.Client({ connectionString: gateway.databaseUrl })
  lost.on('error', () => {})
  await lost.connect()
  await late.query('begin')
  await late.query('lock table claim_lock in exclusive mode')
  const claiming = claim(lost as unknown as Queryable, 1, 3, { leaseId })
  const cut = expect(claiming).rejects.toThrow()
  await until(
    () => waitingFor('claim_lock'),
    count => count === 1,
  )
  lost.connection.stream.destroy()
  await cut
  const returning = returnUncertainClaims(db, [leaseId])
  await until(
    () => waitingFor('claim_lock'),
    count => count === 2,
  )
  await late.query('commit')
  await returning
  expect((await claim(db, 10)).claimed).toHaveLength(1)
})

test('an attempt that starts while a return of its lease has come and waits is unknown after its start, not before', async () => {
  const [outboxId] = await accept(db, [draft(companyId)])
  const lease = await claim(db, 1)
  await expireLeases(db)
  await late.query('begin')
  await late.query('lock table unknown_sends in access exclusive mode')
  const returning = returnExpiredLeases(db, { all: false, idempotentProviders: [], graceSeconds: 120 })
  await until(
    () => waitingFor('unknown_sends'),
    count => count === 1,
  )
  await start(db, lease)
  await late.query('commit')
  expect((await returning).unknown).toBe(1)
  expect(typesOf(await readEmail(db, outboxId!))).toEqual([
    'QUEUED',
    'RECEIVED',
    'VALIDATED',
    'SENT_ATTEMPT',
    'UNKNOWN',
  ])
})

async function waitingFor(table: string): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'select count(*)::int as count from pg_locks where relation = $1::regclass and not granted',
    [table],
  )
  return rows[0]!.count
}
