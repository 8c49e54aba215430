import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EMAIL_STATUSES } from '../../src/outbox/states.ts'
import { startTestGateway, type TestCompany, type TestGateway } from '../support/gateway.ts'
import { type Json, mail, read, rows, sendOk, sleep } from '../support/mail.ts'

let gateway: TestGateway
let company: TestCompany

beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api' })
})
afterAll(() => gateway.stop())

const many = <T>(count: number, make: (index: number) => T) => Array.from({ length: count }, (_, index) => make(index))
const list = (query: string, by = company) => gateway.call(by, 'GET', `/v1/emails${query}`)
const idsOf = (body: Json): string[] => body.data.map((email: Json) => email.outboxId)
const idsFor = async (query: string, by = company) => idsOf((await list(query, by)).body)

/** Follows the cursor to the end. */
async function allPages(
  query: string,
  by = company,
  between: () => Promise<unknown> = async () => {},
): Promise<string[]> {
  const found: string[] = []
  for (let cursor = ''; ; ) {
    const { body } = await list(`?${query}${cursor && `&cursor=${cursor}`}`, by)
    found.push(...idsOf(body))
    expect(body.hasMore).toBe(body.cursor !== null)
    if (!body.hasMore) return found
    cursor = body.cursor
    await between()
  }
}

async function batch(by: TestCompany, count: number): Promise<string[]> {
  const { body } = await gateway.call(
    by,
    'POST',
    '/v1/email/batch',
    many(count, index => mail({ subject: `${index}` })),
  )
  return body.data.map((one: Json) => one.outboxId)
}

describe('the list', () => {
  test('of a company without e-mails is empty', async () => {
    company = await gateway.company()
    const answer = await list('')
    expect([answer.status, answer.body]).toEqual([200, { data: [], cursor: null, hasMore: false }])
  })

  test('is newest first, each as GET shows it, without its events', async () => {
    company = await gateway.company()
    const ids = [await sendOk(gateway, company), await sendOk(gateway, company, { tags: ['x'], cc: ['a@b.example'] })]
    const { body } = await list('')
    expect(idsOf(body)).toEqual([...ids].reverse())
    for (const one of body.data) {
      const { events, resentAs, ...email } = await read(gateway, company, one.outboxId)
      expect(events).toHaveLength(1)
      expect(resentAs).toEqual([])
      expect(one).toEqual(email)
    }
  })

  test('finds e-mails by an id of the caller, in its own company and mode', async () => {
    company = await gateway.company()
    const other = await gateway.company()
    const testKey = { ...company, ...(await gateway.key(company.companyId, { mode: 'test' })) }
    const externalId = 'order/1042 ção'
    const query = `?externalId=${encodeURIComponent(externalId)}`
    const ids = [await sendOk(gateway, company, { externalId }), await sendOk(gateway, company, { externalId })]
    await sendOk(gateway, company, { externalId: 'order/1042' })
    await sendOk(gateway, company)
    expect(await idsFor(query)).toEqual([...ids].reverse())
    expect(await allPages(`limit=1&${query.slice(1)}`)).toEqual([...ids].reverse())
    expect(await idsFor(query, other)).toEqual([])
    expect(await idsFor(query, testKey)).toEqual([])
    const ofTest = await sendOk(gateway, testKey, { externalId })
    expect(await idsFor(query, testKey)).toEqual([ofTest])
    expect((await list('?externalId=')).status).toBe(422)
  })

  test('never has rows of another company, with any filter', async () => {
    const [own, other] = [await gateway.company(), await gateway.company()]
    const theirs = await sendOk(gateway, other, { tags: ['t'], cc: ['cc@example.com'] })
    const mine = await sendOk(gateway, own, { tags: ['t'], cc: ['cc@example.com'] })
    const filters = [
      '',
      '?tag=t',
      '?recipient=cc@example.com',
      '?status=PENDING',
      '?createdAfter=2020-01-01T00:00:00Z',
      '?limit=100',
    ]
    for (const query of filters) {
      expect(await idsFor(query, own)).toEqual([mine])
      expect(await idsFor(query, other)).toEqual([theirs])
    }
  })
})

describe('a filter by', () => {
  let ids: Record<'plain' | 'tagged' | 'copied' | 'cancelled', string>

  beforeAll(async () => {
    company = await gateway.company()
    ids = {
      plain: await sendOk(gateway, company),
      tagged: await sendOk(gateway, company, { tags: ['red', 'green light'], to: 'Joao@Example.com' }),
      copied: await sendOk(gateway, company, { cc: ['cc@example.com'], bcc: ['bcc@example.com'] }),
      cancelled: await sendOk(gateway, company, { delay: 60_000 }),
    }
    await gateway.call(company, 'POST', `/v1/email/${ids.cancelled}/cancel`)
  })

  test.each<[string, string, (keyof typeof ids)[]]>([
    ['status', '?status=CANCELLED', ['cancelled']],
    ['another status', '?status=PENDING', ['copied', 'tagged', 'plain']],
    ['a status that none has', '?status=DLQ', []],
    ['recipient', '?recipient=joao@example.com', ['tagged']],
    ['recipient in another case', '?recipient=JOAO%40EXAMPLE.COM', ['tagged']],
    ['recipient in cc', '?recipient=cc@example.com', ['copied']],
    ['recipient in bcc', '?recipient=bcc@example.com', ['copied']],
    ['a recipient that none has', '?recipient=nobody@example.com', []],
    ['tag', '?tag=red', ['tagged']],
    ['tag with a space', '?tag=green%20light', ['tagged']],
    ['half a tag', '?tag=gree', []],
    ['a tag with wildcards', '?tag=%25', []],
    ['two things at once', '?status=PENDING&tag=red&recipient=joao@example.com', ['tagged']],
    ['two things that exclude each other', '?status=CANCELLED&tag=red', []],
    ['createdAfter long ago', '?createdAfter=2020-01-01T00:00:00Z', ['cancelled', 'copied', 'tagged', 'plain']],
    [
      'createdAfter before computers counted',
      '?createdAfter=1900-01-01T00:00:00Z',
      ['cancelled', 'copied', 'tagged', 'plain'],
    ],
    ['createdAfter in the future', '?createdAfter=2100-01-01T00:00:00Z', []],
    ['createdAfter in the far future', '?createdAfter=9999-12-31T23:59:59Z', []],
    ['createdBefore long ago', '?createdBefore=2020-01-01T00:00:00Z', []],
    ['createdBefore before computers counted', '?createdBefore=1900-01-01T00:00:00Z', []],
    [
      'createdBefore in the far future',
      '?createdBefore=9999-12-31T23:59:59Z',
      ['cancelled', 'copied', 'tagged', 'plain'],
    ],
  ])('%s', async (_name, query, expected) => {
    const { status, body } = await list(query)
    expect([status, idsOf(body ?? { data: [] })]).toEqual([200, expected.map(name => ids[name])])
  })

  test('createdAfter and createdBefore cuts where the times say', async () => {
    const own = await gateway.company()
    const first = await sendOk(gateway, own)
    await sleep(50)
    const between = new Date().toISOString()
    await sleep(50)
    const second = await sendOk(gateway, own)
    expect(await idsFor(`?createdAfter=${between}`, own)).toEqual([second])
    expect(await idsFor(`?createdBefore=${between}`, own)).toEqual([first])
    const withOffset = new Date(Date.parse(between) + 2 * 3_600_000).toISOString().replace('Z', '%2B02:00')
    expect(await idsFor(`?createdAfter=${withOffset}`, own)).toEqual([second])
  })

  test('createdAfter leaves out nothing that was created later, also under load', async () => {
    const own = await gateway.company()
    const ids = (await Promise.all(many(10, () => batch(own, 100)))).flat()
    const [row] = await rows(
      gateway,
      'select min(created_at) as earliest from email_outbox where outbox_id = any($1)',
      [ids],
    )
    const justBefore = new Date(row.earliest.getTime() - 1).toISOString()
    const listed = await allPages(`limit=100&createdAfter=${justBefore}`, own)
    expect(listed).toHaveLength(1000)
  })

  test.each([
    ['status', 'sent'],
    ['status', ''],
    ['status', 'SENT&status=PENDING'],
    ['recipient', 'nobody'],
    ['recipient', ''],
    ['recipient', 'Maria%20%3Cmaria@example.com%3E'],
    ['createdAfter', 'yesterday'],
    ['createdAfter', '2026-01-01'],
    ['createdBefore', '2026-13-01T00:00:00Z'],
    ['cursor', 'x'],
    ['cursor', 'AAAAAAAAAAAAAAAAAAAAAA'.slice(0, 21)],
    ['cursor', '%00'],
    ['cursor', 'x'.repeat(101)],
    ['limit', '0'],
    ['limit', '101'],
    ['limit', '-1'],
    ['limit', '1.5'],
    ['limit', 'ten'],
    ['limit', ''],
    ['limit', '1e1000'],
    ['tag', 'x'.repeat(65)],
  ])('%s=%s is refused by name', async (name, value) => {
    const answer = await list(`?${name}=${value}`)
    expect([answer.status, answer.body.errors?.[0].path]).toEqual([422, name])
    expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/)
  })

  test('a status that is none is refused with all that there are', async () => {
    const { body } = await list('?status=sent')
    for (const status of EMAIL_STATUSES) expect(body.errors[0].message).toContain(`"${status}"`)
  })

  test.each([
    'tag=%00',
    'template=%00',
    'recipient=%00@example.com',
    'createdAfter=0000-01-01T00:00:00Z',
    'createdAfter=2026-01-01T00:00:00%2B23:59',
    'createdBefore=0000-01-01T00:00:00Z',
    'tag=%ff%fe',
    'tag=%ed%a0%80',
    'tag[]=x',
    '__proto__=x',
    'constructor.prototype=x',
  ])('%s is answered or refused, never a failure of ours', async query => {
    expect([200, 400, 422]).toContain((await list(`?${query}`)).status)
  })
})

describe('pages', () => {
  test.each([1, 7, 50, 100])('of %i hold all e-mails once, in order', async limit => {
    const own = await gateway.company()
    const ids = await batch(own, 60)
    expect(await allPages(`limit=${limit}`, own)).toEqual([...ids].sort().reverse())
  })

  test('have 50 unless asked, and 100 at most', async () => {
    const own = await gateway.company()
    await batch(own, 100)
    await batch(own, 1)
    expect(await idsFor('', own)).toHaveLength(50)
    expect(await idsFor('?limit=100', own)).toHaveLength(100)
  })

  test('end without a cursor when the last one is full', async () => {
    const own = await gateway.company()
    await batch(own, 10)
    const { body } = await list('?limit=10', own)
    expect([body.data.length, body.cursor, body.hasMore]).toEqual([10, null, false])
  })

  test('have no gaps and no repeats while new mail arrives', async () => {
    const own = await gateway.company()
    const before = await batch(own, 100)
    const found = await allPages('limit=9', own, async () => {
      await Promise.all([batch(own, 5), sendOk(gateway, own)])
    })
    expect(found).toEqual([...before].sort().reverse())
  })

  test('keep their filter', async () => {
    const own = await gateway.company()
    const tagged: string[] = []
    for (let index = 0; index < 12; index++) {
      const id = await sendOk(gateway, own, { tags: index % 2 ? ['odd'] : ['even'] })
      if (index % 2) tagged.unshift(id)
    }
    expect(await allPages('limit=2&tag=odd', own)).toEqual(tagged)
  })

  test('of one company are of no use to another', async () => {
    const [own, other] = [await gateway.company(), await gateway.company()]
    await sendOk(gateway, other)
    await batch(own, 10)
    const { body } = await list('?limit=5', own)
    const theirs = await list(`?cursor=${body.cursor}`, other)
    expect(theirs.body.data.every((email: Json) => email.companyId === other.companyId)).toBe(true)
  })
})
