import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hashPassword, putAdministrator } from '../../src/admins/administrators.ts'
import { listDeadLetters } from '../../src/outbox/dead-letters.ts'
import { EVERY_DEAD_LETTER, makeDead } from '../support/dead.ts'
import { type Answer, startTestGateway, type TestCompany, type TestGateway } from '../support/gateway.ts'
import { rowsRead } from '../support/rows-read.ts'

const LOGIN = { authorization: `Basic ${Buffer.from('ana:a password of ana').toString('base64')}` }
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const FORMULA = '=HYPERLINK("http://evil.example","no")'

let gateway: TestGateway
let acme: TestCompany
let other: TestCompany
beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api' })
  await putAdministrator(gateway.db.pool, 'ana', await hashPassword('a password of ana'))
  acme = await gateway.company({ name: 'acme' })
  other = await gateway.company({ name: 'other' })
  await makeDead(gateway.db.pool, acme.companyId, 5, { code: 'THROTTLED', reason: 'Slow down', agoSeconds: 7_200 })
  await makeDead(gateway.db.pool, other.companyId, 2, { code: 'THROTTLED', reason: FORMULA, status: 'FAILED' })
  await makeDead(gateway.db.pool, acme.companyId, 1, { code: 'REFUSED', reason: 'No, thanks' })
})
afterAll(() => gateway?.stop())

const admin = (path: string): Promise<Answer> =>
  gateway.call(null, 'GET', `/admin/dead-letters${path}`, undefined, LOGIN)
const codes = (answer: Answer) => answer.body.data.map((one: { lastFailureCode: string }) => one.lastFailureCode)

describe('dead letters for administrators', () => {
  test('are grouped by error code and company, with what the newest one says', async () => {
    const { body } = await admin('/groups')
    expect(body.data).toEqual([
      {
        code: 'THROTTLED',
        companyId: acme.companyId,
        companyName: 'acme',
        entries: 5,
        firstSeen: TIME,
        lastSeen: TIME,
        lastReason: 'Slow down',
        providerCode: null,
      },
      expect.objectContaining({ code: 'THROTTLED', companyName: 'other', entries: 2, lastReason: FORMULA }),
      expect.objectContaining({ code: 'REFUSED', companyName: 'acme', entries: 1 }),
    ])
    const since = new Date(Date.now() - 3_600_000).toISOString()
    const recent = await admin(`/groups?company=${acme.companyId}&since=${since}`)
    expect(recent.body.data).toMatchObject([{ code: 'REFUSED', entries: 1 }])
  })

  test('are listed page by page, newest first, by code, company and time', async () => {
    const first = await admin(`?company=${acme.companyId}&limit=4`)
    expect(codes(first)).toEqual(['REFUSED', 'THROTTLED', 'THROTTLED', 'THROTTLED'])
    expect(first.body).toMatchObject({ hasMore: true, cursor: expect.any(String) })
    const second = await admin(`?company=${acme.companyId}&limit=4&cursor=${first.body.cursor}`)
    expect(second.body).toMatchObject({ hasMore: false, cursor: null })
    expect(second.body.data).toHaveLength(2)
    expect((await admin('?code=THROTTLED&status=FAILED')).body.data).toHaveLength(2)
    expect(await admin('?cursor=no')).toMatchObject({ status: 422, body: { errors: [{ path: 'cursor' }] } })
    expect((await admin('?code=%00')).status).toBe(422)
    expect((await admin('/count?code=THROTTLED')).body).toEqual({
      all: 7,
      replayable: 7,
      payloadPurged: 0,
      outcomeUnknown: 0,
    })
  })

  test('one shows its payload and every attempt; an unknown one is 404', async () => {
    const [{ outboxId }] = (await admin('?code=REFUSED')).body.data
    expect((await admin(`/${outboxId}`)).body).toMatchObject({
      outboxId,
      companyName: 'acme',
      status: 'DLQ',
      replayable: true,
      payloadPurged: false,
      originalData: { subject: 'Hello', from: 'shop@example.com', to: ['maria@example.com'] },
      retryHistory: [{ attempt: 5, timestamp: TIME, error: 'REFUSED' }],
    })
    expect((await admin('/01890000-0000-7000-8000-000000000000')).status).toBe(404)
    expect((await admin('/nothing')).status).toBe(404)
  })

  test('are exported as CSV that no spreadsheet runs, and as JSON lines', async () => {
    const csv = await admin('/export?code=THROTTLED')
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(csv.headers.get('content-disposition')).toBe('attachment; filename="dead-letters.csv"')
    const lines = csv.text.trimEnd().split('\r\n')
    expect(lines).toHaveLength(8)
    expect(lines[0]).toMatch(/^outbox_id,company_id,company,status,code/)
    expect(lines[1]).toContain(`"'${FORMULA.replaceAll('"', '""')}"`)
    const jsonl = await admin(`/export?format=jsonl&company=${acme.companyId}`)
    const entries = jsonl.text
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(entries.map(one => one.companyName)).toEqual(Array(6).fill('acme'))
    expect((await admin('/export?code=NONE')).text.split('\r\n')).toHaveLength(2)
  })
})

test('among many dead letters a rare code is found by its index', async () => {
  const { companyId } = await gateway.company({ name: 'many' })
  await gateway.db.pool.query(
    `insert into dead_letters (outbox_id, company_id, failed_attempts, last_failure_reason, last_failure_code, last_failure_at, retry_history, enqueued_at, moved_at)
     select gen_random_uuid(), $1, 1, repeat('Busy', 300), 'SMTP_' || n % 3, now(), '[]', now(), now() - n * interval '1 second' from generate_series(1, 5000) n`,
    [companyId],
  )
  await gateway.db.pool.query('analyze dead_letters')
  const rare = () =>
    rowsRead(gateway.db.pool, '^dead_letters$', db =>
      listDeadLetters(db, { ...EVERY_DEAD_LETTER, code: 'REFUSED' }, { limit: 50 }),
    )
  expect(await rare()).toBeLessThan(100)
})
