import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { hashEmail } from '../../src/platform/text/hashing.ts'
import { addSuppressions, type SuppressionEntry } from '../../src/suppression/list.ts'
import { startTestGateway, type TestCompany, type TestGateway } from '../support/gateway.ts'
import { mail, rows, send } from '../support/mail.ts'

const MARIA = 'Maria@Example.com'
const HASH = hashEmail('maria@example.com')
const WHY = 'Email foi corrigido pelo usuário'
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

let gateway: TestGateway
let company: TestCompany
let other: TestCompany

async function start(env: Record<string, string> = {}): Promise<void> {
  gateway = await startTestGateway({ role: 'api', env })
  company = await gateway.company()
  other = await gateway.company()
}
const clear = () => gateway.db.pool.query('truncate suppression_list, suppression_audit_log, suppression_daily')
const add = (change: Partial<SuppressionEntry> = {}) =>
  addSuppressions(gateway.db.pool, [
    {
      companyId: null,
      emailHash: HASH,
      reason: 'HARD_BOUNCE',
      expiresInDays: 90,
      metadata: { bounceType: 'Permanent' },
      performedBy: 'system',
      ...change,
    },
  ])
const check = (who: TestCompany, email = MARIA) => gateway.call(who, 'POST', '/v1/suppression/check', { email })
const remove = (who: { apiKey: string }, body: unknown = { email: MARIA, justification: WHY }) =>
  gateway.call(who, 'DELETE', '/v1/suppression', body)
const endAll = () => gateway.db.pool.query(`update suppression_list set expires_at = now() - interval '1 second'`)

describe('with one list for all', () => {
  beforeAll(() => start())
  afterAll(() => gateway?.stop())
  beforeEach(clear)

  test('check tells what the seed prints, by GET as by POST', async () => {
    expect((await check(company)).body).toEqual({ suppressed: false })
    await add()
    const answer = await gateway.call(company, 'GET', `/v1/suppression/check?email=${encodeURIComponent(MARIA)}`)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ suppressed: true, reason: 'HARD_BOUNCE', addedAt: TIME, expiresAt: TIME })
    expect((await check(company)).body).toEqual(answer.body)
    const days = (Date.parse(answer.body.expiresAt) - Date.parse(answer.body.addedAt)) / 86_400_000
    expect(days).toBe(90)
  })

  test('a complaint never ends', async () => {
    await add({ reason: 'COMPLAINT', expiresInDays: 0 })
    expect((await check(company)).body).toMatchObject({ reason: 'COMPLAINT', expiresAt: null })
  })

  test('removing answers as the seed does, lets mail through at once, and is audited with company and reason', async () => {
    await add()
    expect((await send(gateway, company, mail({ to: MARIA }))).status).toBe(403)
    const answer = await remove(company)
    expect([answer.status, answer.body]).toEqual([200, { removed: true, emailHash: HASH }])
    expect((await send(gateway, company, mail({ to: MARIA }))).status).toBe(202)
    expect(
      await rows(
        gateway,
        `select action, reason, performed_by, metadata ->> 'justification' as why from suppression_audit_log order by id`,
      ),
    ).toEqual([
      { action: 'ADDED', reason: 'HARD_BOUNCE', performed_by: 'system', why: null },
      { action: 'REMOVED', reason: 'HARD_BOUNCE', performed_by: company.companyId, why: WHY },
    ])
  })

  test('a complaint is removed for nobody, in the words of the seed', async () => {
    await add({ reason: 'COMPLAINT', expiresInDays: 0 })
    const answer = await remove(company)
    expect(answer.status).toBe(403)
    expect(answer.body).toMatchObject({
      code: 'COMPLAINT_NOT_REMOVABLE',
      message: 'Cannot remove complaint suppressions (LGPD compliance)',
    })
    expect((await check(company)).body.suppressed).toBe(true)
  })

  test('what is not listed, or has expired, is 404', async () => {
    expect((await remove(company)).body).toMatchObject({ status: 404, code: 'NOT_SUPPRESSED' })
    await add()
    await endAll()
    expect((await check(company)).body).toEqual({ suppressed: false })
    expect((await remove(company)).status).toBe(404)
  })

  test('an expired entry lets mail through before housekeeping has seen it, to, cc and bcc', async () => {
    await add()
    const everywhere = { cc: [MARIA], to: 'bob@example.com' }
    expect((await send(gateway, company, mail(everywhere))).body.suppressed).toEqual([HASH])
    await endAll()
    expect((await send(gateway, company, mail({ to: MARIA }))).status).toBe(202)
    for (const kind of ['cc', 'bcc']) {
      const answer = await send(gateway, company, mail({ to: 'bob@example.com', [kind]: [MARIA] }))
      expect([answer.status, answer.body.suppressed]).toEqual([202, undefined])
    }
  })

  test.each([
    ['no justification', { email: MARIA }, 'justification'],
    ['an empty one', { email: MARIA, justification: '  ' }, 'justification'],
    ['one of a full stop', { email: MARIA, justification: '.' }, 'justification'],
    ['one of punctuation and two letters', { email: MARIA, justification: '... ok ...' }, 'justification'],
    ['one of 501 characters', { email: MARIA, justification: 'x'.repeat(501) }, 'justification'],
    ['one with a line break', { email: MARIA, justification: 'a\nb' }, 'justification'],
    ['no address', { justification: WHY }, 'email'],
    ['something that is no address', { email: 'maria', justification: WHY }, 'email'],
    ['a field of nobody', { email: MARIA, justification: WHY, reason: 'x' }, 'reason'],
  ])('%s is refused by name', async (_what, body, path) => {
    await add()
    const answer = await remove(company, body)
    expect([answer.status, answer.body.errors[0].path]).toEqual([422, path])
    expect(answer.text).not.toMatch(/maria/i)
    expect((await check(company)).body.suppressed).toBe(true)
  })

  test('checking needs read, removing needs manage', async () => {
    const reader = await gateway.key(company.companyId, { scopes: ['read'] })
    const sender = await gateway.key(company.companyId, { scopes: ['send', 'read'] })
    expect((await gateway.call(reader, 'POST', '/v1/suppression/check', { email: MARIA })).status).toBe(200)
    expect((await remove(sender)).body.code).toBe('INSUFFICIENT_SCOPE')
    const writer = await gateway.key(company.companyId, { scopes: ['send', 'manage'] })
    expect((await gateway.call(writer, 'GET', '/v1/suppression/check?email=a@b.co')).body.code).toBe(
      'INSUFFICIENT_SCOPE',
    )
    expect((await gateway.call(null, 'GET', '/v1/suppression/check?email=a@b.co')).status).toBe(401)
  })

  test('no address, CPF or CNPJ is in the tables or in the logs', async () => {
    await add({ metadata: { diagnosticCode: `550 <${MARIA}> unknown` } })
    await gateway.call(company, 'GET', `/v1/suppression/check?email=${encodeURIComponent(MARIA)}`)
    await send(gateway, company, mail({ to: MARIA }))
    const [{ list }] = await rows(gateway, 'select json_agg(s)::text as list from suppression_list s')
    await remove(company, { email: MARIA, justification: `${MARIA} (529.982.247-25, 11.222.333/0001-81) pediu` })
    const [{ audit }] = await rows(gateway, 'select json_agg(a)::text as audit from suppression_audit_log a')
    expect(list).toContain('550 <M***@E***.com> unknown')
    expect(audit).toContain('M***@E***.com (***.***.***-25, **.***.***/****-81) pediu')
    expect(list + audit + gateway.logs()).not.toMatch(/maria@example|maria%40|529\.982\.247|11\.222\.333/i)
  })
})

describe('with a list for each company', () => {
  beforeAll(() => start({ SUPPRESSION_SCOPE: 'company' }))
  afterAll(() => gateway?.stop())
  beforeEach(clear)

  test('an entry of one is unknown to the other, blocks nothing there, and cannot be removed from there', async () => {
    await add({ companyId: company.companyId })
    expect((await check(company)).body.suppressed).toBe(true)
    expect((await check(other)).body).toEqual({ suppressed: false })
    expect((await send(gateway, company, mail({ to: MARIA }))).status).toBe(403)
    expect((await send(gateway, other, mail({ to: MARIA }))).status).toBe(202)
    expect((await remove(other)).status).toBe(404)
    expect((await remove(company)).status).toBe(200)
    expect((await check(company)).body.suppressed).toBe(false)
  })

  test('the global list blocks all, and belongs to the administrators', async () => {
    await add({ reason: 'MANUAL' })
    for (const who of [company, other]) {
      expect((await check(who)).body).toMatchObject({ suppressed: true, reason: 'MANUAL' })
      expect((await send(gateway, who, mail({ to: MARIA }))).status).toBe(403)
      const answer = await remove(who)
      expect([answer.status, answer.body.detail]).toEqual([404, expect.stringContaining('ask its administrators')])
    }
  })

  test('on both lists, check tells the graver, and removing takes the own one only', async () => {
    await add({ reason: 'COMPLAINT', expiresInDays: 0 })
    await add({ companyId: company.companyId })
    expect((await check(company)).body.reason).toBe('COMPLAINT')
    expect((await remove(company)).status).toBe(200)
    expect((await check(company)).body.reason).toBe('COMPLAINT')
  })
})
