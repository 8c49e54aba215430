import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { companyCommand } from '../../src/companies/command.ts'
import { domainCommand } from '../../src/domains/command.ts'
import { type FakeAws, startFakeAws } from '../support/fake-aws.ts'
import { type FakeDns, startFakeDns } from '../support/fake-dns.ts'
import { startFakeResend } from '../support/fake-resend.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { SHARED_SECRETS } from '../support/secrets.ts'
import { makeSigner, type Signer } from '../support/sns.ts'

let signer: Signer
let aws: FakeAws
let dns: FakeDns
let database: Awaited<ReturnType<typeof createTestDatabase>>

beforeAll(async () => {
  signer = makeSigner()
  aws = await startFakeAws(signer)
  dns = await startFakeDns()
  database = await createTestDatabase()
})
afterAll(async () => {
  vi.unstubAllEnvs()
  await aws?.close()
  await dns?.close()
  await database?.drop()
  signer?.remove()
})
beforeEach(() => {
  vi.unstubAllEnvs()
  const env = { DATABASE_URL: database.url, ...SHARED_SECRETS, DNS_SERVERS: dns.address }
  const credentials = { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' }
  const ses = { EMAIL_PROVIDER: 'ses', AWS_REGION: 'us-east-1', AWS_ENDPOINT_URL_SESV2: aws.url }
  for (const [name, value] of Object.entries({ ...env, ...credentials, ...ses })) vi.stubEnv(name, value)
})

/** The command in this process, with the settings of the environment. */
async function run(words: string[], values: Record<string, string | boolean> = {}) {
  const answer = (await domainCommand.run({ words, values }))!
  // biome-ignore lint/suspicious/noExplicitAny: every answer has another form
  return { ...answer, json: answer.json as any, text: answer.lines.join('\n') }
}
const makeCompany = (name: string) => companyCommand.run({ words: ['create', name], values: {} })

test('a domain is added at Amazon SES, checked, and allowed for its company once it is verified', async () => {
  await makeCompany('acme')
  const company = { company: 'acme' }
  const added = await run(['add', 'Acme.example'], company)
  expect(added.text).toMatch(/^FOR +TYPE +STATE +NAME +VALUE\nDKIM +CNAME/)
  expect(added.text).toContain('acme may not send from acme.example yet.')
  expect(added.json.records.map(({ purpose }: { purpose: string }) => purpose)).toEqual([
    ...['DKIM', 'DKIM', 'DKIM', 'MAIL FROM', 'MAIL FROM', 'DMARC'],
  ])
  const zone = await run(['add', 'acme.example'], { ...company, zone: true })
  expect(zone.text).toContain('bounce.acme.example. 3600 IN MX 10 feedback-smtp.us-east-1.amazonses.com.')
  expect(aws.changes().filter(call => call === 'ses:CreateEmailIdentity')).toHaveLength(1)

  const early = await run(['check', 'acme.example'], company)
  expect(early).toMatchObject({ exitCode: 1, json: { allowed: false } })
  expect(new Set(early.json.records.map(({ state }: { state: string }) => state))).toEqual(new Set(['missing']))
  dns.records.push(...early.json.records)
  dns.records.at(-1)!.value = 'v=DMARC1; p=quarantine'
  aws.identities.verify('acme.example')
  const late = await run(['check', 'acme.example'], company)
  expect(late).toMatchObject({ exitCode: 0, json: { allowed: true } })
  expect(late.text).toContain('ses: DKIM SUCCESS, MAIL FROM SUCCESS')
  expect(late.text).toContain('acme may send from acme.example.')
  expect(new Set(late.json.records.map(({ state }: { state: string }) => state))).toEqual(new Set(['found']))

  await makeCompany('other')
  await companyCommand.run({ words: ['update', 'other'], values: { 'from-domains': 'given.example' } })
  expect((await run(['list'])).lines).toEqual([
    expect.stringMatching(/^acme\.example {2}acme {2}\(verified /),
    'given.example  other  (allowed by an administrator)',
  ])
  expect(await run(['check', 'given.example'], { company: 'other' })).toMatchObject({
    json: { domain: 'given.example', company: 'other', allowed: true, records: [] },
    lines: [
      'other may send from given.example: an administrator allowed it, so there is nothing to check.',
      expect.stringContaining('run: email-gateway domain add given.example --company other'),
    ],
  })
  await expect(run(['add', 'acme.example'], { company: 'other' })).rejects.toMatchObject({
    code: 'DOMAIN_TAKEN',
    message: expect.stringContaining('is a sender domain of the company acme'),
  })
  // An administrator takes it away: checking does not give it back, adding it again does.
  await companyCommand.run({ words: ['update', 'acme'], values: { 'from-domains': ',' } })
  expect(await run(['check', 'acme.example'], company)).toMatchObject({ exitCode: 1, json: { allowed: false } })
  await run(['add', 'acme.example'], company)
  expect(await run(['check', 'acme.example'], company)).toMatchObject({ exitCode: 0, json: { allowed: true } })
  await expect(run(['check', 'none.example'], company)).rejects.toThrow('email-gateway domain add none.example')
})

test('a permission that is missing is named, and DNS that does not answer is no missing record', async () => {
  await makeCompany('denied')
  aws.denied.add('ses:PutEmailIdentityMailFromAttributes')
  await expect(run(['add', 'denied.example'], { company: 'denied' })).rejects.toMatchObject({
    code: 'AWS_PERMISSION_MISSING',
    message: expect.stringContaining(
      'ses:PutEmailIdentityMailFromAttributes on arn:aws:ses:us-east-1:123456789012:identity/',
    ),
  })
  aws.denied.clear()
  const added = await run(['add', 'denied.example'], { company: 'denied' })
  expect(added.json.records).toHaveLength(6)
  vi.stubEnv('DNS_SERVERS', '127.0.0.1:9')
  const { json } = await run(['check', 'denied.example'], { company: 'denied' })
  expect(json.records[0]).toMatchObject({ state: 'unknown' })
})

test('with Resend the records are those of its API, and with SMTP the domain is allowed at once', async () => {
  await makeCompany('elsewhere')
  const resend = await startFakeResend({ apiKey: 're_right' })
  try {
    const provider = { EMAIL_PROVIDER: 'resend', RESEND_API_KEY: 're_right', RESEND_BASE_URL: resend.url }
    for (const [name, value] of Object.entries(provider)) vi.stubEnv(name, value)
    const company = { company: 'elsewhere' }
    const { json } = await run(['add', 'mail.example.org'], company)
    expect(json.records.map(({ name, type }: { name: string; type: string }) => `${type} ${name}`)).toEqual([
      'MX send.mail.example.org',
      'TXT send.mail.example.org',
      'TXT resend._domainkey.mail.example.org',
      'TXT _dmarc.mail.example.org',
    ])
    expect(await run(['check', 'mail.example.org'], company)).toMatchObject({ exitCode: 1 })
    resend.domains[0]!.status = 'verified'
    expect(await run(['check', 'mail.example.org'], company)).toMatchObject({ exitCode: 0, json: { allowed: true } })
    vi.stubEnv('RESEND_API_KEY', 're_wrong')
    await expect(run(['add', 'more.example'], company)).rejects.toMatchObject({ code: 'PROVIDER_NOT_ASKED' })

    vi.stubEnv('EMAIL_PROVIDER', 'smtp')
    vi.stubEnv('SMTP_URL', 'smtp://127.0.0.1:9')
    const allowed = await run(['add', 'relay.example'], company)
    expect(allowed).toMatchObject({ exitCode: 0, json: { allowed: true, atProviders: [] } })
    expect(allowed.text).toContain('elsewhere may send from relay.example.')
  } finally {
    await resend.close()
  }
})
