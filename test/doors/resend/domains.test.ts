import { pino } from 'pino'
import { Resend } from 'resend'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { listCompanyAudit } from '../../../src/companies/changes.ts'
import { findCompany } from '../../../src/companies/companies.ts'
import { checkPendingDomains, composeDomains } from '../../../src/domains/domains.ts'
import { loadConfig } from '../../../src/settings/config.ts'
import { type FakeAws, startFakeAws } from '../../support/fake-aws.ts'
import { type FakeDns, type FakeDnsRecord, startFakeDns } from '../../support/fake-dns.ts'
import { startTestGateway, type TestCompany, type TestGateway } from '../../support/gateway.ts'
import { SHARED_SECRETS } from '../../support/secrets.ts'
import { makeSigner, type Signer } from '../../support/sns.ts'

let signer: Signer
let aws: FakeAws
let dns: FakeDns
let gateway: TestGateway

const env = () => ({
  EMAIL_PROVIDER: 'ses',
  AWS_REGION: 'us-east-1',
  AWS_ENDPOINT_URL_SESV2: aws.url,
  DNS_SERVERS: dns.address,
})
const client = ({ apiKey }: { apiKey: string }) => new Resend(apiKey, { baseUrl: gateway.url })
const fromDomains = async ({ companyId }: TestCompany) => (await findCompany(gateway.db.pool, companyId))!.fromDomains

beforeAll(async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test')
  signer = makeSigner()
  aws = await startFakeAws(signer)
  dns = await startFakeDns()
  gateway = await startTestGateway({ role: 'api', env: env() })
})
afterAll(async () => {
  await gateway?.stop()
  await aws?.close()
  await dns?.close()
  signer?.remove()
  vi.unstubAllEnvs()
})

type Shown = { record: string; name: string; type: string; value: string; priority?: number; status: string }
const domains = () =>
  composeDomains(loadConfig({ ...env(), DATABASE_URL: gateway.databaseUrl, ...SHARED_SECRETS }), gateway.db)
/** What the owner of the domain does. */
const publish = (records: Shown[]) =>
  dns.records.push(
    ...records.map(({ name, type, value, priority }) => ({
      name,
      type: type as FakeDnsRecord['type'],
      value,
      ...(priority !== undefined && { priority }),
    })),
  )

describe('a domain, through the SDK of Resend,', () => {
  test('is added, published, verified, used and removed', async () => {
    const company = await gateway.company()
    const resend = client(company)
    const added = await resend.domains.create({ name: 'Shop.example' })
    expect(added.error).toBeNull()
    const { id, records } = added.data!
    expect(added.data).toMatchObject({ name: 'shop.example', status: 'pending', region: 'us-east-1' })
    const shown = records as Shown[]
    expect(shown.map(({ record, type, status }) => `${record} ${type} ${status}`)).toEqual([
      'Ownership TXT not_started',
      'DKIM CNAME not_started',
      'DKIM CNAME not_started',
      'DKIM CNAME not_started',
      'SPF MX not_started',
      'SPF TXT not_started',
      'DMARC TXT not_started',
    ])
    expect(shown[4]).toMatchObject({
      name: 'bounce.shop.example',
      value: 'feedback-smtp.us-east-1.amazonses.com',
      priority: 10,
    })
    expect(aws.identities.all.get('shop.example')).toMatchObject({
      keyLength: 'RSA_2048_BIT',
      mailFrom: 'bounce.shop.example',
      onMxFailure: 'USE_DEFAULT_VALUE',
    })
    const letter = { from: 'hello@shop.example', to: 'maria@example.com', subject: 'Hello', text: 'It works.' }
    expect((await resend.emails.send(letter)).error).toMatchObject({ statusCode: 403 })

    expect((await resend.domains.verify(id)).data).toEqual({ object: 'domain', id })
    expect((await resend.domains.get(id)).data).toMatchObject({ object: 'domain', status: 'pending' })
    publish(shown)
    // SES has not looked yet.
    expect((await resend.domains.get(id)).data).toMatchObject({ status: 'pending' })
    expect(await fromDomains(company)).toEqual([])
    aws.identities.verify('shop.example')
    expect((await resend.domains.verify(id)).error).toBeNull()
    const { data } = await resend.domains.get(id)
    expect(data).toMatchObject({ status: 'verified' })
    expect(new Set((data!.records as Shown[]).map(({ status }) => status))).toEqual(new Set(['verified']))
    expect(await fromDomains(company)).toEqual(['shop.example'])
    expect((await resend.domains.list()).data).toMatchObject({
      object: 'list',
      has_more: false,
      data: [{ id, name: 'shop.example', status: 'verified' }],
    })
    expect((await resend.domains.create({ name: 'shop.example' })).data).toMatchObject({ id })
    const audit = await listCompanyAudit(gateway.db.pool, company.companyId)
    expect(audit.map(({ action, subjectId }) => [action, subjectId])).toEqual([
      ['DOMAIN_VERIFIED', id],
      ['DOMAIN_ADDED', id],
    ])

    await gateway.db.pool.query('update companies set default_from = $2 where company_id = $1', [
      company.companyId,
      'Shop <hello@shop.example>',
    ])
    expect((await resend.domains.remove(id)).error).toMatchObject({ statusCode: 409 })
    await gateway.db.pool.query('update companies set default_from = null where company_id = $1', [company.companyId])
    expect((await resend.domains.remove(id)).data).toEqual({ object: 'domain', id, deleted: true })
    expect(await fromDomains(company)).toEqual([])
    expect(aws.identities.all.has('shop.example')).toBe(false)
    expect((await resend.domains.get(id)).error).toMatchObject({ statusCode: 404 })
  })

  test('that an administrator has allowed is verified, and stays allowed when the company adds and removes it', async () => {
    const company = await gateway.company({ fromDomains: ['granted.example'] })
    const resend = client(company)
    const { id } = (await resend.domains.create({ name: 'granted.example' })).data!
    expect((await resend.domains.get(id)).data).toMatchObject({ status: 'verified' })
    expect((await resend.domains.remove(id)).data).toMatchObject({ deleted: true })
    expect(await fromDomains(company)).toEqual(['granted.example'])
  })

  test('that was published becomes allowed without anybody asking, is looked at ever less often, and not after 72 hours', async () => {
    const { pool } = gateway.db
    const [shop, late] = [await gateway.company(), await gateway.company()]
    const { id, records } = (await client(shop).domains.create({ name: 'soon.example' })).data!
    const old = (await client(late).domains.create({ name: 'late.example' })).data!
    for (const shown of [records, old.records]) publish(shown as Shown[])
    for (const name of ['soon.example', 'late.example']) aws.identities.verify(name)
    const pass = async (ageMinutes: number, lookedMinutesAgo: number | null) => {
      await pool.query(
        `update domains set created_at = now() - make_interval(mins => case when domain_id = $3 then $1 else 73 * 60 end),
           checked_at = now() - make_interval(mins => $2)`,
        [ageMinutes, lookedMinutesAgo, id],
      )
      return checkPendingDomains(domains(), pino({ level: 'silent' }))
    }
    expect(await pass(4, null)).toBe(0)
    // A pass has just been made, by another process perhaps.
    expect(await pass(90, 1)).toBe(0)
    expect(await pass(90, 14)).toBe(0)
    aws.denied.add('ses:GetEmailIdentity')
    expect(await pass(90, 19)).toBe(1)
    aws.denied.clear()
    expect(await fromDomains(shop)).toEqual([])
    const both = await Promise.all([pass(6, null), checkPendingDomains(domains(), pino({ level: 'silent' }))])
    expect(both.toSorted()).toEqual([0, 1])
    expect([await fromDomains(shop), await fromDomains(late)]).toEqual([['soon.example'], []])
    expect(await listCompanyAudit(pool, shop.companyId)).toMatchObject([
      { action: 'DOMAIN_VERIFIED', subjectId: id, performedBy: 'system' },
      { action: 'DOMAIN_ADDED' },
    ])
    // Verified, and given up: nothing is left to do.
    expect(await pass(6, null)).toBe(0)
    expect((await client(late).domains.get(old.id)).data).toMatchObject({ status: 'verified' })
  })

  test('is added and checked ten times a minute at most, and the other calls reach no provider', async () => {
    const [busy, other] = [await gateway.company(), await gateway.company()]
    const { id } = (await client(busy).domains.create({ name: 'busy.example' })).data!
    for (let call = 2; call <= 10; call++) expect((await client(busy).domains.get(id)).error).toBeNull()
    const asked = aws.calls.length
    const refused = await gateway.call(busy, 'POST', `/domains/${id}/verify`)
    expect(refused).toMatchObject({ status: 429, body: { name: 'rate_limit_exceeded' } })
    const seconds = Number(refused.headers.get('retry-after'))
    expect(seconds > 0 && seconds <= 60).toBe(true)
    expect((await client(busy).domains.get(id)).error).toMatchObject({ statusCode: 429 })
    expect((await client(busy).domains.create({ name: 'more.example' })).error).toMatchObject({ statusCode: 429 })
    expect(aws.calls).toHaveLength(asked)
    // Neither another company nor what asks nobody is concerned, and the next minute is a new one.
    expect((await client(other).domains.create({ name: 'other.example' })).error).toBeNull()
    expect((await client(busy).domains.list()).data!.data).toHaveLength(1)
    await gateway.db.pool.query(`update domain_calls set since = since - interval '1 minute'`)
    expect((await client(busy).domains.get(id)).error).toBeNull()
  })

  test("of EMAIL_FROM is the operator's, and no company adds it", async () => {
    const { error } = await client(await gateway.company()).domains.create({ name: 'Localhost.localdomain' })
    expect(error).toMatchObject({ statusCode: 409 })
    expect(aws.identities.all.has('localhost.localdomain')).toBe(false)
  })

  test('is not looked for under an id that is none', async () => {
    const company = await gateway.company()
    for (const id of ['%00', 'shop.example'])
      expect(
        (await fetch(`${gateway.url}/domains/${id}`, { headers: { authorization: `Bearer ${company.apiKey}` } }))
          .status,
      ).toBe(404)
  })

  test('of another company cannot be taken, even where SES has verified it already', async () => {
    const [owner, thief] = [await gateway.company(), await gateway.company()]
    // The operator's account has the domain, verified, before anybody adds it here.
    aws.identities.create({ EmailIdentity: 'bank.example' })
    aws.identities.verify('bank.example')
    const claimed = (await client(thief).domains.create({ name: 'bank.example' })).data!
    expect((await client(thief).domains.get(claimed.id)).data).toMatchObject({ status: 'pending' })
    expect(await fromDomains(thief)).toEqual([])

    const { id, records } = (await client(owner).domains.create({ name: 'bank.example' })).data!
    publish((records as Shown[]).filter(({ record }) => record === 'Ownership'))
    expect((await client(owner).domains.get(id)).data).toMatchObject({ status: 'verified' })
    // The record of the owner does not speak for the other company.
    expect((await client(thief).domains.get(claimed.id)).data).toMatchObject({ status: 'pending' })
    const late = await gateway.company()
    expect((await client(late).domains.create({ name: 'bank.example' })).error).toMatchObject({ statusCode: 409 })
    for (const path of ['get', 'verify', 'remove'] as const)
      expect((await client(thief).domains[path](id)).error).toMatchObject({ statusCode: 404 })
    // It was there before the gateway.
    await client(owner).domains.remove(id)
    await client(thief).domains.remove(claimed.id)
    expect(aws.identities.all.has('bank.example')).toBe(true)
  })

  test('needs a live key with the scope manage, and only what the gateway does', async () => {
    const company = await gateway.company({ fromDomains: ['given.example'] })
    const tester = await gateway.key(company.companyId, { mode: 'test' })
    const sender = await gateway.key(company.companyId, { scopes: ['send'] })
    for (const key of [tester, sender])
      expect((await client(key).domains.create({ name: 'x.example' })).error).toMatchObject({
        statusCode: 401,
        name: 'restricted_api_key',
      })
    const resend = client(company)
    const wrong = [
      { name: 'no domain' },
      { name: 'x.example', region: 'eu-west-1' },
      { name: 'x.example', openTracking: true },
      { name: 'x.example', customReturnPath: 'send' },
    ] as Parameters<typeof resend.domains.create>[0][]
    for (const body of wrong) expect((await resend.domains.create(body)).error).toMatchObject({ statusCode: 422 })
    expect((await resend.domains.update({ id: 'x', tls: 'enforced' })).error).toMatchObject({ statusCode: 501 })
    const other = await gateway.company()
    expect((await client(other).domains.create({ name: 'given.example' })).error).toMatchObject({ statusCode: 409 })
    expect(aws.identities.all.has('x.example')).toBe(false)

    aws.denied.add('ses:CreateEmailIdentity')
    const { error } = await resend.domains.create({ name: 'y.example' })
    expect(error).toMatchObject({ statusCode: 503, message: expect.not.stringContaining('arn:aws') })
    expect(gateway.logs()).toContain('ses:CreateEmailIdentity')
    aws.denied.clear()
    // What was interrupted is completed by the next call.
    expect((await resend.domains.create({ name: 'y.example' })).data).toMatchObject({ status: 'pending' })
  })
})
