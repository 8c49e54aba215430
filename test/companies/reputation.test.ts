import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hashPassword, putAdministrator } from '../../src/admins/administrators.ts'
import { addToReputation, warnOrPauseCompanies } from '../../src/companies/reputation.ts'
import { type Answer, startTestGateway, type TestCompany, type TestGateway, until } from '../support/gateway.ts'
import { mail, rows, sendOk } from '../support/mail.ts'

const LOGIN = { authorization: `Basic ${Buffer.from('ana:a password of ana').toString('base64')}` }
const log = pino({ level: 'silent' })

let gateway: TestGateway

beforeAll(async () => {
  gateway = await startTestGateway()
  await putAdministrator(gateway.db.pool, 'ana', await hashPassword('a password of ana'))
})
afterAll(() => gateway?.stop())

const admin = (method: string, path: string, body?: unknown): Promise<Answer> =>
  gateway.call(null, method, `/admin/companies${path}`, body, LOGIN)
const standing = async ({ companyId }: TestCompany) =>
  (await admin('GET', '')).body.data.find((one: { companyId: string }) => one.companyId === companyId)
const judge = () => warnOrPauseCompanies(gateway.db.pool, log)
const count = ({ companyId }: TestCompany, counts: object) =>
  addToReputation(gateway.db.pool, [{ companyId, ...counts }])
const audit = async ({ companyId }: TestCompany) =>
  (await admin('GET', `/${companyId}/audit`)).body.data.map((one: { action: string; performedBy: string }) => [
    one.action,
    one.performedBy,
  ])
const notices = ({ companyId }: TestCompany) =>
  rows(gateway, 'select type, data from webhook_deliveries where company_id = $1 order by sequence', [companyId])
const hourLater = ({ companyId }: TestCompany) =>
  gateway.db.pool.query(`update companies set warned_at = warned_at - interval '61 minutes' where company_id = $1`, [
    companyId,
  ])

async function listening(company: TestCompany): Promise<void> {
  await gateway.db.pool.query(
    `insert into webhook_endpoints (endpoint_id, company_id, url, event_types, secret_cipher)
     values ($1, $2, 'https://127.0.0.1:9/', '{company.warned,company.paused}', '\\x00')`,
    [randomUUID(), company.companyId],
  )
}

test('a company whose mail bounces is warned, then paused; an administrator resumes it, and it begins anew', async () => {
  const company = await gateway.company()
  await listening(company)
  const good = Array.from({ length: 95 }, (_, n) => mail({ to: `person-${n}@example.com` }))
  expect((await gateway.call(company, 'POST', '/v1/email/batch', good)).status).toBe(202)
  await until(
    () => standing(company),
    one => one.sent === 95,
  )
  for (let n = 0; n < 5; n++) await sendOk(gateway, company, { to: `bounce+${n}@simulator.test` })
  // What was sent is written every two seconds, or when somebody is judged.
  const warned = await until(
    async () => {
      await judge()
      return standing(company)
    },
    one => one.state === 'warned',
  )
  expect(warned).toMatchObject({ sent: 100, bounced: 5, bounceRate: 0.05, complaintRate: 0, pausedAt: null })
  expect(warned.warnReason).toBe('5.0 % bounced for good (5 of 100 recipients in 24 hours, the limit is 5.0 %)')
  expect(await judge(), 'warned once').toBe(0)

  await hourLater(company)
  await judge()
  expect(await standing(company)).toMatchObject({
    state: 'paused',
    pausedBy: 'reputation',
    pauseReason: warned.warnReason,
  })
  const waiting = await sendOk(gateway, company)
  expect((await notices(company)).map(one => [one.type, one.data.bounceRate])).toEqual([
    ['company.warned', 0.05],
    ['company.paused', 0.05],
  ])
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text()
  expect(metrics).toContain(`company_paused{company_id="${company.companyId}"} 1`)
  expect(metrics).toContain(`company_bounce_rate{company_id="${company.companyId}"} 0.05`)

  expect((await admin('POST', `/${company.companyId}/resume`, {})).status).toBe(422)
  expect((await admin('POST', `/${company.companyId}/resume`, { reason: ' ' })).status).toBe(422)
  expect((await admin('POST', `/${company.companyId}/resume`, { reason: '...' })).status).toBe(422)
  expect((await rows(gateway, 'select status from email_outbox where outbox_id = $1', [waiting]))[0].status).toBe(
    'PENDING',
  )
  const resumed = await admin('POST', `/${company.companyId}/resume`, { reason: 'They cleaned their list' })
  expect(resumed.body).toEqual({
    companyId: company.companyId,
    paused: false,
    reason: 'They cleaned their list',
    performedBy: 'ana',
  })
  await judge()
  expect(await standing(company)).toMatchObject({
    state: 'active',
    sent: expect.any(Number),
    bounced: 0,
    warnedAt: null,
  })
  expect(await audit(company)).toEqual([
    ['RESUMED', 'ana'],
    ['PAUSED', 'reputation'],
    ['WARNED', 'reputation'],
  ])
  await until(
    () => rows(gateway, 'select status from email_outbox where outbox_id = $1', [waiting]),
    ([one]) => one.status === 'SENT',
  )
})

describe('the limits', () => {
  test.each([
    ['twice the limit of bounces: paused at once', { sent: 100, bounced: 10 }, 'paused'],
    ['half a percent of complaints: paused at once', { sent: 600, complained: 3 }, 'paused'],
    ['a tenth of a percent of complaints', { sent: 3000, complained: 3 }, 'warned'],
    ['five percent of bounces', { sent: 1000, bounced: 50 }, 'warned'],
    ['just below both', { sent: 10_000, bounced: 499, complained: 9 }, 'active'],
    ['too few mails to say', { sent: 99, bounced: 90 }, 'active'],
    ['too few complaints to say', { sent: 200, complained: 2 }, 'active'],
  ])('%s', async (_, counts, state) => {
    const company = await gateway.company()
    await count(company, counts)
    await judge()
    expect(await standing(company)).toMatchObject({ state, ...counts })
    if (state === 'paused')
      expect((await audit(company)).map(([action]: string[]) => action)).toEqual(['PAUSED', 'WARNED'])
  })

  test('a warning ends when the figures are good again, and yesterday does not count', async () => {
    const company = await gateway.company()
    await count(company, { sent: 1000, bounced: 60 })
    await judge()
    await count(company, { sent: 200 })
    await hourLater(company)
    await gateway.db.pool.query(`update statistics set at = at - interval '25 hours' where company_id = $1`, [
      company.companyId,
    ])
    await judge()
    expect(await standing(company)).toMatchObject({ state: 'active', sent: 0, bounceRate: 0 })
    expect(await audit(company)).toEqual([
      ['WARNING_ENDED', 'reputation'],
      ['WARNED', 'reputation'],
    ])
  })

  test('judged by several at once, it is warned once', async () => {
    const company = await gateway.company()
    await count(company, { sent: 1000, bounced: 60 })
    await Promise.all(Array.from({ length: 6 }, judge))
    expect(await audit(company)).toEqual([['WARNED', 'reputation']])
  })
})

test('an administrator pauses and resumes by hand, and says why; nobody else does', async () => {
  const company = await gateway.company()
  const path = `/${company.companyId}`
  expect((await gateway.call(company, 'POST', `/admin/companies${path}/pause`, { reason: 'because' })).status).toBe(401)
  expect((await admin('POST', `${path}/resume`, { reason: 'because' })).body.code).toBe('NOT_PAUSED')
  expect((await admin('POST', `${path}/pause`, { reason: 'A contract ended' })).body).toMatchObject({
    paused: true,
    performedBy: 'ana',
  })
  expect(await standing(company)).toMatchObject({ state: 'paused', pausedBy: 'ana', pauseReason: 'A contract ended' })
  expect((await admin('POST', `${path}/resume`, { reason: 'It was renewed' })).status).toBe(200)
  expect((await admin('POST', `/${randomUUID()}/pause`, { reason: 'because' })).status).toBe(404)
  expect((await admin('POST', '/nobody/pause', { reason: 'because' })).status).toBe(404)
  const forged = await fetch(`${gateway.url}/admin/companies${path}/pause`, {
    method: 'POST',
    headers: LOGIN,
    body: 'reason=x',
  })
  expect(forged.status).toBe(415)
})
