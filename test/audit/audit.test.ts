import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hashPassword, putAdministrator } from '../../src/admins/administrators.ts'
import { writeAudit } from '../../src/audit/audit.ts'
import { hashEmail } from '../../src/platform/text/hashing.ts'
import { addSuppressions } from '../../src/suppression/list.ts'
import { startTestGateway, type TestCompany, type TestGateway } from '../support/gateway.ts'
import { rows } from '../support/mail.ts'

const LOGIN = { authorization: `Basic ${btoa('ana:correct horse battery')}` }
const HASH = hashEmail('spam@example.com')

type Entry = { id: string; action: string; subjectType: string; performedBy: string; performedAt: string }

let gateway: TestGateway
let company: TestCompany

beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api' })
  company = await gateway.company({ name: 'acme' })
  const { pool } = gateway.db
  await putAdministrator(pool, 'ana', await hashPassword('correct horse battery'))
  const { companyId } = company
  for (let n = 0; n < 6; n++) {
    await writeAudit(pool, {
      performedBy: n % 2 === 0 ? 'ana' : 'cli:root',
      action: 'COMPANY_CHANGED',
      subjectType: 'company',
      subjectId: companyId,
      companyId,
      before: { weight: n, defaultFrom: 'a@example.com' },
      after: { weight: n + 1, defaultFrom: 'a@example.com' },
      reason: n === 0 ? '=HYPERLINK("https://evil.example")' : null,
    })
    await addSuppressions(pool, [
      {
        companyId: n % 2 === 0 ? companyId : null,
        emailHash: hashEmail(`r${n}@example.com`),
        reason: 'MANUAL',
        expiresInDays: 1,
        metadata: { ticket: n },
        performedBy: 'ana',
        justification: `Asked by phone, ${n}`,
      },
    ])
  }
  // Rows of one transaction have the same time, in both tables.
  await pool.query(
    `update audit_log set performed_at = '2026-01-01T10:00:00.123456Z' where id in (select id from audit_log order by id desc limit 3)`,
  )
  await pool.query(
    `update suppression_audit_log set performed_at = '2026-01-01T10:00:00.123456Z' where id in (select id from suppression_audit_log order by id limit 3)`,
  )
})
afterAll(() => gateway.stop())

const get = (query = '') => gateway.call(null, 'GET', `/admin/audit${query}`, undefined, LOGIN)
const list = async (query = ''): Promise<Entry[]> => (await get(query)).body.data
const idsOf = (entries: Entry[]) => entries.map(entry => entry.id)

describe('the audit log', () => {
  test('has both logs as one list, newest first, with before, after and reason', async () => {
    const all = await list()
    expect(all).toHaveLength(13)
    const times = all.map(entry => entry.performedAt)
    expect(times).toEqual(times.toSorted().reverse())
    expect(all.find(entry => entry.subjectType === 'suppression')).toMatchObject({
      performedBy: 'ana',
      action: 'ADDED',
      subjectId: hashEmail('r5@example.com'),
      companyId: null,
      before: null,
      after: { reason: 'MANUAL', ticket: 5 },
      reason: 'Asked by phone, 5',
    })
    expect(all.find(entry => entry.subjectType === 'company')).toMatchObject({
      companyName: 'acme',
      before: { weight: 2 },
      after: { weight: 3 },
    })
  })

  test.each([1, 4, 5])('is read in pages of %i, forwards and back, without a gap and without repeats', async limit => {
    const all = idsOf(await list())
    const pages: string[][] = []
    let page = (await get(`?limit=${limit}`)).body
    expect(page.newer).toBeNull()
    for (;;) {
      pages.push(idsOf(page.data))
      if (!page.older) break
      page = (await get(`?limit=${limit}&olderThan=${page.older}`)).body
    }
    expect(pages.flat()).toEqual(all)
    for (const before of pages.slice(0, -1).reverse()) {
      page = (await get(`?limit=${limit}&newerThan=${page.newer}`)).body
      expect(idsOf(page.data)).toEqual(before)
    }
    expect(page.newer).toBeNull()
  })

  test.each<[string, () => string, number]>([
    ['who', () => '?performedBy=cli:root', 3],
    ['people: without the administrator that the gateway made', () => '?actor=people', 12],
    ['action', () => '?action=COMPANY_CHANGED', 6],
    ['action in the suppression list', () => '?action=ADDED&performedBy=ana', 6],
    ['kind of subject', () => '?subjectType=suppression', 6],
    ['subject', () => `?subjectType=suppression&subjectId=${hashEmail('r1@example.com')}`, 1],
    ['company', () => `?company=${company.companyId}`, 9],
    ['time', () => '?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z', 6],
    ['address', () => '?subjectId=R1@example.com', 1],
    ['hash without its prefix', () => `?subjectId=${hashEmail('r1@example.com').slice('sha256:'.length)}`, 1],
    ['nothing that is there', () => `?subjectId=${HASH}`, 0],
  ])('is filtered by %s', async (_what, query, count) => {
    expect(await list(query())).toHaveLength(count)
  })

  test('has one entry by its id, of either log', async () => {
    for (const entry of (await list()).filter((_, n) => n % 4 === 0))
      expect(await list(`?id=${entry.id}`)).toEqual([entry])
    expect(await list('?id=a999999999')).toEqual([])
  })

  test.each([
    '?id=7',
    '?id=x7',
    '?company=acme',
    '?olderThan=abc',
    '?from=yesterday',
    '?limit=0',
    '?who=ana',
    '?action=%00',
  ])('refuses %s', async query => {
    expect((await get(query)).status).toBe(422)
  })

  test('finds a page of a long log by an index', async () => {
    const client = await gateway.db.pool.connect()
    await client.query('begin')
    await client.query(`insert into audit_log (performed_by, action, subject_type, subject_id, performed_at)
      select 'somebody', 'X', 'x', n::text, now() - n * interval '1 second' from generate_series(1, 20000) n`)
    await client.query('analyze audit_log')
    const { rows: plan } = await client.query(
      `explain select * from audit_log where performed_by = 'ana' order by performed_at desc, id desc limit 50`,
    )
    await client.query('rollback')
    client.release()
    expect(plan.map(row => row['QUERY PLAN']).join('\n')).toContain('audit_log_performed_by')
  })
})

describe('its export', () => {
  test('as CSV has every entry, quoted, and no cell that a spreadsheet runs', async () => {
    const answer = await gateway.call(null, 'GET', `/admin/audit/export?action=COMPANY_CHANGED`, undefined, LOGIN)
    expect(answer.headers.get('content-type')).toMatch(/^text\/csv/)
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="audit-log.csv"')
    const lines = answer.text.trimEnd().split('\r\n')
    expect(lines).toHaveLength(7)
    expect(lines[0]).toBe(
      'performed_at,performed_by,action,subject_type,subject_id,company_id,company,reason,before,after',
    )
    expect(answer.text).toContain(`"'=HYPERLINK(""https://evil.example"")"`)
    expect(answer.text).toContain(`"{""weight"":0,""defaultFrom"":""a@example.com""}"`)
  })

  test('as JSON has one entry per line, over several pages', async () => {
    await gateway.db.pool.query(`insert into audit_log (performed_by, action, subject_type, subject_id)
      select 'bulk', 'X', 'x', n::text from generate_series(1, 1200) n`)
    const answer = await fetch(`${gateway.url}/admin/audit/export?format=jsonl&performedBy=bulk`, { headers: LOGIN })
    const entries = (await answer.text())
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(new Set(entries.map(entry => entry.subjectId)).size).toBe(1200)
    expect(entries[0]).not.toHaveProperty('position')
    expect(await rows(gateway, `delete from audit_log where performed_by = 'bulk'`)).toEqual([])
  })
})
