import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { hashPassword, putAdministrator } from '../../src/admins/administrators.ts'
import { hashEmail } from '../../src/platform/text/hashing.ts'
import { addSuppressions, expireSuppressions, type SuppressionEntry } from '../../src/suppression/list.ts'
import { type Answer, startTestGateway, type TestCompany, type TestGateway, until } from '../support/gateway.ts'
import { mail, send } from '../support/mail.ts'
import { notAcrossMidnight } from '../support/midnight.ts'

const HASH = hashEmail('spam@example.com')
const WHY = 'Cliente solicitou bloqueio'
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const UUID = expect.stringMatching(/^[0-9a-f-]{36}$/)
const LOGIN = { authorization: `Basic ${Buffer.from('ana:a password of ana').toString('base64')}` }

let gateway: TestGateway
let company: TestCompany

beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api', env: { PUBLIC_URL: 'https://mail.example.com' } })
  company = await gateway.company()
  await putAdministrator(gateway.db.pool, 'ana', await hashPassword('a password of ana'))
})
afterAll(() => gateway?.stop())
beforeEach(() => gateway.db.pool.query('truncate suppression_list, suppression_audit_log, suppression_daily'))

const admin = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
  gateway.call(null, method, `/admin/suppression${path}`, body, { ...LOGIN, ...headers })
const entry = (change: Partial<SuppressionEntry> = {}): SuppressionEntry => ({
  companyId: null,
  emailHash: HASH,
  reason: 'HARD_BOUNCE',
  expiresInDays: 90,
  metadata: { bounceType: 'Permanent', diagnosticCode: 'smtp; 550 5.1.1 user unknown' },
  performedBy: 'system',
  ...change,
})
const add = (...changes: Partial<SuppressionEntry>[]) => addSuppressions(gateway.db.pool, changes.map(entry))
const many = (count: number, change: Partial<SuppressionEntry> = {}, from = 0) =>
  add(...Array.from({ length: count }, (_, n) => ({ ...change, emailHash: hashEmail(`r${from + n}@example.com`) })))

describe('one entry', () => {
  test('added by hand: 201 as the seed prints it, in the name of the administrator', async () => {
    const body = { email: 'spam@example.com', reason: 'MANUAL', expiresInDays: 365, justification: WHY }
    const answer = await admin('POST', '', body)
    expect([answer.status, answer.body]).toEqual([201, { added: true, emailHash: HASH, expiresAt: TIME }])
    expect(Math.round((Date.parse(answer.body.expiresAt) - Date.now()) / 86_400_000)).toBe(365)
    const checked = await gateway.call(company, 'POST', '/v1/suppression/check', { email: 'spam@example.com' })
    expect(checked.body).toMatchObject({ suppressed: true, reason: 'MANUAL' })
    const again = await admin('POST', '', body)
    expect([again.status, again.body]).toEqual([200, { ...answer.body, added: false }])
  })

  test('shown with its history, exactly as the seed prints it', async () => {
    await add({})
    const answer = await admin('GET', `/${HASH}`)
    expect(answer.headers.get('vary')).toBe('Accept')
    expect(answer.body).toEqual({
      id: UUID,
      emailHash: HASH,
      reason: 'HARD_BOUNCE',
      addedAt: TIME,
      expiresAt: TIME,
      updatedAt: TIME,
      metadata: { bounceType: 'Permanent', diagnosticCode: 'smtp; 550 5.1.1 user unknown' },
      auditLog: [{ action: 'ADDED', performedBy: 'system', performedAt: TIME, reason: 'HARD_BOUNCE' }],
    })
  })

  test('removed with a justification, which the history keeps', async () => {
    await add({})
    const answer = await admin('DELETE', `/${HASH}`, { justification: 'Cliente solicitou remoção' })
    expect([answer.status, answer.body]).toEqual([
      200,
      { removed: true, emailHash: HASH, removedBy: 'ana', removedAt: TIME },
    ])
    expect((await admin('GET', `/${HASH}`)).body).toMatchObject({ status: 404, code: 'NOT_SUPPRESSED' })
    await admin('POST', '', { emailHash: HASH, justification: WHY, expiresInDays: 0 })
    expect((await admin('GET', `/${HASH}`)).body).toMatchObject({
      expiresAt: null,
      auditLog: [
        { action: 'ADDED', performedBy: 'system' },
        { action: 'REMOVED', performedBy: 'ana', reason: 'HARD_BOUNCE', justification: 'Cliente solicitou remoção' },
        { action: 'ADDED', performedBy: 'ana', reason: 'MANUAL', justification: WHY },
      ],
    })
  })

  test('a complaint is not removed by an administrator either', async () => {
    await add({ reason: 'COMPLAINT', expiresInDays: 0 })
    const answer = await admin('DELETE', `/${HASH}`, { justification: WHY })
    expect(answer.body).toMatchObject({ status: 403, code: 'COMPLAINT_NOT_REMOVABLE' })
    expect((await admin('GET', `/${HASH}`)).status).toBe(200)
  })

  test('on the lists of companies: named, or the only one there is', async () => {
    const second = await gateway.company()
    await add({ companyId: company.companyId })
    expect((await admin('GET', `/${HASH}`)).body.companyId).toBe(company.companyId)
    await add({ companyId: second.companyId, reason: 'MANUAL' })
    expect((await admin('GET', `/${HASH}`)).body.detail).toContain('name one with ?company=')
    expect((await admin('DELETE', `/${HASH}?company=${second.companyId}`, { justification: WHY })).status).toBe(200)
    expect((await admin('GET', `/${HASH}`)).body.companyId).toBe(company.companyId)
    await admin('POST', '', { emailHash: HASH, justification: WHY, company: second.companyId.toUpperCase() })
    expect((await admin('GET', `/${HASH}?company=${second.companyId}`)).body.reason).toBe('MANUAL')
    expect((await admin('GET', `/${HASH}?company=global`)).status).toBe(404)
  })

  test.each([
    ['without a justification', { email: 'a@b.co' }, 422],
    ['without an address', { justification: WHY }, 422],
    ['with address and hash', { email: 'a@b.co', emailHash: HASH, justification: WHY }, 422],
    ['with something that is no hash', { emailHash: 'sha256:12', justification: WHY }, 422],
    ['as a complaint', { email: 'a@b.co', reason: 'COMPLAINT', justification: WHY }, 422],
    ['for a century and a day', { email: 'a@b.co', expiresInDays: 36_501, justification: WHY }, 422],
    [
      'for a company that is not there',
      { email: 'a@b.co', justification: WHY, company: '0198c0de-0000-7000-8000-000000000000' },
      422,
    ],
  ])('%s nothing is added', async (_how, body, status) => {
    expect((await admin('POST', '', body)).status).toBe(status)
    expect((await admin('GET', '')).body.data).toEqual([])
  })

  test('a hash that is none is 404, and nothing worse', async () => {
    for (const odd of ['nonsense', 'sha256:', `sha256:${'g'.repeat(64)}`, "sha256:'--", '%00'])
      expect((await admin('GET', `/${odd}`)).status, odd).toBe(404)
  })
})

describe('what is on no list any more', () => {
  const remove = (hash: string) => admin('DELETE', `/${hash}`, { justification: 'The mailbox works again' })

  test('an address has its whole history by its hash, and by the address, which is in no URL', async () => {
    await add({})
    await remove(HASH)
    await add({ companyId: company.companyId })
    const answer = await admin('GET', `/${HASH}/history`)
    expect(answer.body.entries).toMatchObject([{ emailHash: HASH, companyId: company.companyId }])
    expect(answer.body.auditLog.map(({ action }: { action: string }) => action)).toEqual(['ADDED', 'REMOVED', 'ADDED'])
    const removal = { action: 'REMOVED', performedBy: 'ana', justification: 'The mailbox works again' }
    expect(answer.body.auditLog[1]).toMatchObject(removal)
    const lookedUp = await admin('POST', '/look-up', { email: ' Spam@Example.com ' })
    expect([lookedUp.status, lookedUp.body]).toEqual([200, answer.body])
  })

  test('an address that never was suppressed: 404 by its hash, empty lists by the address', async () => {
    expect((await admin('GET', `/${HASH}/history`)).body).toMatchObject({ status: 404, code: 'NOT_SUPPRESSED' })
    expect((await admin('GET', '/nonsense/history')).status).toBe(404)
    const { body } = await admin('POST', '/look-up', { email: 'spam@example.com' })
    expect(body).toEqual({ emailHash: HASH, entries: [], auditLog: [] })
    expect((await admin('POST', '/look-up', { email: 'nonsense' })).status).toBe(422)
    expect((await admin('POST', '/look-up', { email: 'a@b.example', more: 1 })).status).toBe(422)
  })

  test('what was removed and what has expired are lists of their own, newest first, in pages', async () => {
    await many(3)
    for (const n of [0, 1, 2]) await remove(hashEmail(`r${n}@example.com`))
    const first = (await admin('GET', '/ended?limit=2')).body
    const hashes = (page: { data: { emailHash: string }[] }) => page.data.map(one => one.emailHash)
    expect([hashes(first), first.hasMore]).toEqual([[2, 1].map(n => hashEmail(`r${n}@example.com`)), true])
    const second = (await admin('GET', `/ended?limit=2&cursor=${first.cursor}`)).body
    expect([hashes(second), second.hasMore, second.cursor]).toEqual([[hashEmail('r0@example.com')], false, null])
    expect((await admin('GET', '/ended?ending=EXPIRED')).body.data).toEqual([])
    await add({ expiresInDays: 1 })
    await gateway.db.pool.query(`update suppression_list set expires_at = now() - interval '1 minute'`)
    await expireSuppressions(gateway.db.pool)
    expect(hashes((await admin('GET', '/ended?ending=EXPIRED')).body)).toEqual([HASH])
    for (const query of ['ending=ADDED', 'cursor=x', 'limit=0'])
      expect((await admin('GET', `/ended?${query}`)).status).toBe(422)
  })
})

describe('the list', () => {
  const pages = async (query: string, limit = 7): Promise<Answer['body'][]> => {
    const all: Answer['body'][] = []
    let cursor = ''
    do {
      const { status, body } = await admin('GET', `?limit=${limit}${query}${cursor}`)
      expect(status).toBe(200)
      all.push(...body.data)
      expect(body.hasMore).toBe(body.cursor !== null)
      cursor = body.cursor && `&cursor=${body.cursor}`
    } while (cursor)
    return all
  }
  const hashesOf = (data: { emailHash: string }[]) => data.map(one => one.emailHash)

  test('is exactly as the seed prints it', async () => {
    await add({})
    const answer = await admin('GET', '')
    expect(answer.headers.get('vary')).toBe('Accept')
    expect(answer.body).toEqual({
      data: [
        {
          id: UUID,
          emailHash: HASH,
          reason: 'HARD_BOUNCE',
          addedAt: TIME,
          expiresAt: TIME,
          metadata: { bounceType: 'Permanent', diagnosticCode: 'smtp; 550 5.1.1 user unknown' },
        },
      ],
      cursor: null,
      hasMore: false,
    })
  })

  test('comes in pages that neither repeat nor miss an entry while others are added', async () => {
    for (let n = 0; n < 5; n++) await many(10, {}, n * 10)
    const before = hashesOf(await pages('', 200))
    const seen: string[] = []
    let cursor: string | null = null
    for (let page = 0; page < 8; page++) {
      const { body }: Answer = await admin('GET', `?limit=7${cursor ? `&cursor=${cursor}` : ''}`)
      seen.push(...hashesOf(body.data))
      cursor = body.cursor
      await many(3, {}, 1000 + page * 3)
    }
    expect(cursor).toBeNull()
    expect(seen).toEqual(before)
  })

  test('is sorted by either time, in either direction, and what never ends comes last', async () => {
    await many(20, { expiresInDays: 10 })
    await many(3, { reason: 'COMPLAINT', expiresInDays: 0 }, 50)
    await many(10, { reason: 'MANUAL', expiresInDays: 5 }, 100)
    const upwards = await pages('&sort=expiresAt&order=asc')
    expect(upwards.map(one => one.reason)).toEqual([
      ...Array(10).fill('MANUAL'),
      ...Array(20).fill('HARD_BOUNCE'),
      ...Array(3).fill('COMPLAINT'),
    ])
    expect(hashesOf(await pages('&sort=expiresAt&order=desc'))).toEqual(hashesOf(upwards).toReversed())
    expect(hashesOf(await pages('&sort=addedAt&order=asc'))).toEqual(hashesOf(await pages('')).toReversed())
  })

  test('is filtered by reason, company, times, and what never ends', async () => {
    await many(3)
    await many(2, { reason: 'COMPLAINT', expiresInDays: 0 }, 10)
    await many(1, { companyId: company.companyId, reason: 'MANUAL', expiresInDays: 400 }, 20)
    const count = async (query: string) => (await admin('GET', `?${query}`)).body.data.length
    const at = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()
    expect(await count('')).toBe(6)
    expect(await count('reason=COMPLAINT')).toBe(2)
    expect(await count(`company=${company.companyId}`)).toBe(1)
    expect(await count('company=global')).toBe(5)
    expect(await count('expires=never')).toBe(2)
    expect(await count(`expiresBefore=${at(91)}`)).toBe(3)
    expect(await count(`expiresAfter=${at(91)}`)).toBe(3)
    expect(await count(`addedAfter=${at(-1)}&addedBefore=${at(1)}`)).toBe(6)
    expect(await count(`addedAfter=${at(1)}`)).toBe(0)
    await gateway.db.pool.query(`update suppression_list set expires_at = now() where reason = 'HARD_BOUNCE'`)
    expect(await count('')).toBe(3)
  })

  test('is searched by address, hash or its first digits; POST keeps the address out of URLs', async () => {
    await many(30)
    await add({})
    for (const search of [
      'spam@example.com',
      ' SPAM@example.com',
      HASH,
      HASH.slice(7),
      HASH.slice(0, 17),
      `${HASH.slice(0, 15)}...`,
    ]) {
      const answer = await admin('POST', '/search', { search })
      expect(hashesOf(answer.body.data), search).toEqual([HASH])
    }
    expect(hashesOf((await admin('GET', '?search=spam@example.com')).body.data)).toEqual([HASH])
    expect((await admin('POST', '/search', { search: 'nobody@example.com' })).body.data).toEqual([])
    expect(gateway.logs()).not.toContain('spam@example.com')
  })

  test.each([
    'limit=0',
    'limit=201',
    'limit=x',
    'reason=SOFT',
    'sort=metadata',
    'order=up',
    'cursor=abc',
    'company=x',
    'search=%00',
    'search=xy',
    'addedAfter=yesterday',
    'expires=soon',
  ])('?%s is refused', async query => {
    expect((await admin('GET', `?${query}`)).status).toBe(422)
  })

  test('a cursor of another order is refused', async () => {
    await many(3)
    const { cursor } = (await admin('GET', '?limit=1')).body
    expect((await admin('GET', `?limit=1&order=asc&cursor=${cursor}`)).status).toBe(422)
    expect((await admin('GET', `?limit=1&cursor=${cursor}`)).status).toBe(200)
  })
})

describe('who may', () => {
  const body = { email: 'spam@example.com', justification: WHY }

  test('nobody without name and password, and no API key', async () => {
    const anonymous = (method: string, path: string, sent?: unknown) =>
      gateway.call(company, method, `/admin/suppression${path}`, sent)
    for (const [method, path, sent] of [
      ['GET', ''],
      ['GET', '/stats'],
      ['GET', `/${HASH}`],
      ['POST', '', body],
      ['POST', '/search', {}],
      ['DELETE', `/${HASH}`, { justification: WHY }],
    ] as const)
      expect((await anonymous(method, path, sent)).status, `${method} ${path}`).toBe(401)
  })

  test.each([
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['a neighbour of the same site', { 'sec-fetch-site': 'same-site' }],
    ['another origin', { origin: 'https://evil.example' }],
    ['no origin that could be named', { origin: 'null' }],
    ['our name as somebody else’s', { origin: 'https://mail.example.com.evil.example' }],
    ['our name without encryption', { origin: 'http://mail.example.com' }],
  ])('what a page of %s sends with the browser’s password is refused', async (_who, headers) => {
    expect((await admin('POST', '', body, headers)).body.code).toBe('CROSS_SITE_REQUEST')
    expect((await admin('DELETE', `/${HASH}`, { justification: WHY }, headers)).body.code).toBe('CROSS_SITE_REQUEST')
    expect((await admin('GET', '', undefined, headers)).body.data).toEqual([])
  })

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
  ])('a form (%s) is refused', async type => {
    expect((await admin('POST', '', body, { 'content-type': type })).status).toBe(415)
  })

  test('our own pages and programs may', async () => {
    const own = [{}, { origin: 'https://mail.example.com' }, { origin: gateway.url, 'sec-fetch-site': 'same-origin' }]
    for (const headers of own) expect((await admin('POST', '/search', {}, headers)).status).toBe(200)
  })
})

describe('figures', () => {
  const metric = async (line: string) => (await gateway.call(null, 'GET', '/metrics')).text.split('\n').includes(line)

  test('totals, hit rate of the last day and growth of thirty', async () => {
    await notAcrossMidnight()
    await gateway.db.pool.query(`truncate statistics; delete from counters where name = 'email_send_requests'`)
    await many(4)
    await add({ reason: 'COMPLAINT', expiresInDays: 0 })
    await admin('DELETE', `/${hashEmail('r0@example.com')}`, { justification: WHY })
    await gateway.db.pool.query(
      `insert into suppression_daily (day, reason, added, expired) values ((now() at time zone 'UTC')::date - 29, 'MANUAL', 7, 2)`,
    )
    for (const to of ['spam@example.com', 'r1@example.com', 'bob@example.com'])
      await send(gateway, company, mail({ to }))
    const batch = [mail({ to: 'spam@example.com' }), ...Array(4).fill(mail({ to: 'eva@example.com' }))]
    await gateway.call(company, 'POST', '/v1/email/batch', batch, { 'x-batch-validation': 'permissive' })
    const { body } = await until(
      () => admin('GET', '/stats'),
      answer => answer.body.last24Hours.requests === 8 && answer.body.active.total === 4,
    )
    expect(body.active).toEqual({ total: 4, HARD_BOUNCE: 3, COMPLAINT: 1, MANUAL: 0 })
    expect(body.last24Hours).toEqual({ requests: 8, blocked: 3, hitRate: 37.5 })
    expect(body.growth).toHaveLength(30)
    expect(body.growth[0]).toMatchObject({ added: 7, removed: 0, expired: 2, net: 5 })
    expect(body.growth[29]).toMatchObject({ added: 5, removed: 1, expired: 0, net: 4 })
    expect(body.growth[29].day > body.growth[0].day).toBe(true)

    const { companyId } = company
    expect(await metric(`email_send_requests_total{company_id="${companyId}",suppressed="true"} 3`)).toBe(true)
    expect(await metric(`email_send_requests_total{company_id="${companyId}",suppressed="false"} 5`)).toBe(true)
    expect(await metric('suppression_list_size{reason="HARD_BOUNCE"} 3')).toBe(true)
    expect(await metric('suppression_added_total{reason="COMPLAINT"} 1')).toBe(true)
    expect(await metric('suppression_removed_total{reason="HARD_BOUNCE",action="MANUAL"} 1')).toBe(true)
    expect(await metric('suppression_removed_total{reason="MANUAL",action="EXPIRED"} 2')).toBe(true)
  })

  test('a replayed answer is not counted again', async () => {
    await gateway.db.pool.query(`truncate statistics; delete from counters where name = 'email_send_requests'`)
    const key = { 'idempotency-key': 'counted-once' }
    for (let time = 0; time < 3; time++) await send(gateway, company, mail({ to: 'bob@example.com' }), key)
    await send(gateway, company, mail({ to: 'last@example.com' }))
    const { body } = await until(
      () => admin('GET', '/stats'),
      answer => answer.body.last24Hours.requests >= 2,
    )
    expect(body.last24Hours.requests).toBe(2)
  })
})
