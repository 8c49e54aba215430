import { createHash, createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decrypt, keyRing } from '../../src/platform/encryption.ts'
import { isValidCpfCnpj } from '../../src/platform/text/documents.ts'
import { hashEmail } from '../../src/platform/text/hashing.ts'
import { startTestGateway, type TestCompany, type TestGateway } from '../support/gateway.ts'
import { cancelLater, mail, rows, send, sendOk, untilStatus } from '../support/mail.ts'
import { SHARED_SECRETS } from '../support/second-gateway.ts'

let gateway: TestGateway
let company: TestCompany

beforeAll(async () => {
  gateway = await startTestGateway({ env: SHARED_SECRETS })
  company = await gateway.company()
})
afterAll(() => gateway.stop())

type Document = { bare: string; written: string }

/** Check digits by the rule of the Receita Federal, written again here. */
function checkDigits(base: string, longest: number): string {
  const digit = (text: string) => {
    const values = [...text]
      .reverse()
      .map((character, index) => (character.charCodeAt(0) - 48) * (2 + (index % longest)))
    const rest = values.reduce((sum, value) => sum + value, 0) % 11
    return String(rest < 2 ? 0 : 11 - rest)
  }
  const first = digit(base)
  return first + digit(base + first)
}

let made = 0
/** One of its own for each test, so that a leak names its cause. */
function newCpf(): Document {
  const base = String(529_982_247 + ++made * 1_034_567)
  const bare = base + checkDigits(base, 10)
  return { bare, written: bare.replace(/^(...)(...)(...)(..)$/, '$1.$2.$3-$4') }
}
function newCnpj(): Document {
  const base = `12ABC${String(++made).padStart(3, '0')}01DE`
  const bare = base + checkDigits(base, 8)
  return { bare, written: bare.replace(/^(..)(...)(...)(....)(..)$/, '$1.$2.$3/$4-$5') }
}

/** Every way in which somebody who has a dump could find it, short of the key or the pepper. */
function formsOf({ bare, written }: Document): string[] {
  const plain = [
    bare,
    written,
    bare.toLowerCase(),
    written.toLowerCase(),
    written.replace('/', '\\/'),
    encodeURIComponent(written),
  ]
  const encoded = [bare, written].flatMap(text => [
    Buffer.from(text).toString('base64').replace(/=+$/, ''),
    Buffer.from(text).toString('hex'),
    createHash('sha256').update(text).digest('hex'),
    createHash('sha1').update(text).digest('hex'),
    createHash('md5').update(text).digest('hex'),
  ])
  return [...plain, ...encoded, bare.slice(0, -2), written.slice(0, -3)]
}

/** Every row of every table, as text. */
async function dump(): Promise<string> {
  const tables = await rows(
    gateway,
    `select oid::regclass::text as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`,
  )
  const texts = await Promise.all(tables.map(({ name }) => rows(gateway, `select t::text as row from ${name} t`)))
  return texts
    .flat()
    .map(({ row }) => row)
    .join('\n')
}

/** The lines in which it is, or nothing. */
const linesWith = (text: string, forms: string[]) =>
  text.split('\n').filter(line => forms.some(form => line.toLowerCase().includes(form.toLowerCase())))

async function expectNowhere(...documents: Document[]): Promise<void> {
  const forms = documents.flatMap(formsOf)
  expect(linesWith(gateway.logs(), forms)).toEqual([])
  expect(linesWith(await dump(), forms)).toEqual([])
}

const DOCUMENTS: [string, () => Document][] = [
  ['a CPF', newCpf],
  ['an alphanumeric CNPJ', newCnpj],
]

test('the documents of these tests are valid, and the dump would show them', async () => {
  for (const { bare, written } of [newCpf(), newCnpj()]) {
    expect([isValidCpfCnpj(bare), isValidCpfCnpj(written)]).toEqual([true, true])
    await sendOk(gateway, company, { subject: `Not masked: ${written}` })
    expect(linesWith(await dump(), [written])).not.toEqual([])
  }
})

describe.each(DOCUMENTS)('%s', (_name, newDocument) => {
  test('of a recipient is nowhere in clear, however it was written', async () => {
    const document = newDocument()
    for (const cpfCnpj of [document.written, document.bare, document.bare.toLowerCase()]) {
      const outboxId = await sendOk(gateway, company, {
        recipient: { cpfCnpj, nome: 'Maria', externalId: `c-${made}` },
      })
      await untilStatus(gateway, company, outboxId, 'SENT')
    }
    await expectNowhere(document)
  })

  test('is kept encrypted, comes back with the key, and is found by its keyed hash', async () => {
    const document = newDocument()
    const owners = [await gateway.company(), await gateway.company()]
    for (const owner of owners) await sendOk(gateway, owner, { recipient: { cpfCnpj: document.written } })
    const kept = await rows(
      gateway,
      'select company_id, cpf_cnpj_cipher as cipher, cpf_cnpj_hash as hash from recipients where company_id = any($1)',
      [owners.map(owner => owner.companyId)],
    )
    expect(kept).toHaveLength(2)
    const ring = keyRing([SHARED_SECRETS.ENCRYPTION_KEY])
    const hash = createHmac('sha256', SHARED_SECRETS.HASH_PEPPER).update(document.bare).digest('hex')
    for (const row of kept) {
      const place = { companyId: row.company_id, column: 'recipients.cpf_cnpj' } as const
      expect(decrypt(row.cipher, ring, place)).toBe(document.bare)
      expect(row.hash).toBe(hash)
      expect(() => decrypt(row.cipher, keyRing(['ab'.repeat(32)]), place)).toThrow()
    }
    const [mine, other] = kept
    const swapped = { companyId: other.company_id, column: 'recipients.cpf_cnpj' } as const
    expect(() => decrypt(mine.cipher, ring, swapped)).toThrow()
    expect(kept[0].cipher.equals(kept[1].cipher)).toBe(false)
  })

  test('in a batch is nowhere in clear', async () => {
    const [good, bad] = [newDocument(), newDocument()]
    const bodies = [
      mail({ recipient: { cpfCnpj: good.written } }),
      mail({ to: 'wrong', recipient: { cpfCnpj: bad.bare } }),
    ]
    for (const mode of ['strict', 'permissive']) {
      const headers = { 'x-batch-validation': mode, 'idempotency-key': `batch-${made}` }
      const answer = await gateway.call(company, 'POST', '/v1/email/batch', bodies, headers)
      expect(linesWith(answer.text, formsOf(bad))).toEqual([])
    }
    await expectNowhere(good, bad)
  })

  test.each<[string, (document: Document) => unknown]>([
    ['beside another fault', document => mail({ subject: '', recipient: { cpfCnpj: document.written } })],
    ['with a digit too many', document => mail({ recipient: { cpfCnpj: `${document.bare}0` } })],
    ['in a field of another type', document => mail({ recipient: { cpfCnpj: [document.written] } })],
    ['as recipient', document => mail({ recipient: document.written })],
    ['as hash', document => mail({ recipient: { cpfCnpjHash: document.bare } })],
    ['as recipientId', document => mail({ recipient: { recipientId: document.bare } })],
    ['as address', document => mail({ to: document.written })],
    ['as local part of a wrong address', document => mail({ to: `${document.bare}@nowhere` })],
    ['as template', document => mail({ html: undefined, template: document.written })],
    ['as variable', document => mail({ html: undefined, template: 'x', variables: { cpf: document.written } })],
    ['as value of an unknown field', document => mail({ cpf: document.written })],
    ['as name of an unknown field', document => mail({ [document.written]: 1 })],
    ['in a header that is not allowed', document => mail({ headers: { Subject: document.written } })],
    ['in a header with a line break', document => mail({ headers: { 'X-Doc': `${document.written}\r\nBcc: x` } })],
    ['as header name', document => mail({ headers: { [`X ${document.bare}`]: 'x' } })],
    ['in wrong HTML', document => mail({ html: `<script>${document.written}</script>` })],
    ['in large wrong HTML', document => mail({ html: `<p>${document.written}</p>`.repeat(2_000).concat('<script>') })],
    ['in JSON that ends early', document => `{"recipient":{"cpfCnpj":"${document.written}"`],
    ['before wrong JSON', document => `${document.written}`],
    ['with NUL behind it', document => mail({ recipient: { cpfCnpj: `${document.written}\0` } })],
    [
      'beside a recipient that is unknown',
      document => mail({ recipient: { cpfCnpj: document.bare, recipientId: '0190a0b0-0000-7000-8000-000000000000' } }),
    ],
    ['as time', document => mail({ scheduledAt: document.written })],
    ['as priority', document => mail({ priority: document.bare })],
    ['as file content', document => mail({ attachments: [{ filename: 'a', content: document.written }] })],
  ])('in a refused request, %s, is nowhere in clear', async (_where, body) => {
    const document = newDocument()
    const answer = await send(gateway, company, body(document), { 'idempotency-key': `refused-${made}` })
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(answer.status).toBeLessThan(500)
    await expectNowhere(document)
  })

  test('of a suppressed recipient is nowhere in clear', async () => {
    const document = newDocument()
    await rows(
      gateway,
      `insert into suppression_list (email_hash, reason) values ($1, 'MANUAL') on conflict do nothing`,
      [hashEmail('suppressed@example.com')],
    )
    const body = mail({ to: 'suppressed@example.com', recipient: { cpfCnpj: document.written } })
    expect((await send(gateway, company, body)).status).toBe(403)
    await expectNowhere(document)
  })

  test.each<[string, (document: Document) => Record<string, string>]>([
    ['User-Agent', document => ({ 'user-agent': `client/${document.written}` })],
    ['Referer', document => ({ referer: `https://acme.example/?cpf=${document.bare}` })],
    ['Cookie', document => ({ cookie: `cpf=${document.written}` })],
    ['X-Forwarded-For', document => ({ 'x-forwarded-for': document.written })],
    ['a header of the caller', document => ({ 'x-customer': document.written })],
    ['traceparent', document => ({ traceparent: document.bare })],
    ['X-Batch-Validation', document => ({ 'x-batch-validation': document.bare })],
    ['X-API-Key', document => ({ 'x-api-key': document.bare })],
    ['Authorization', document => ({ 'x-api-key': '', authorization: `Bearer ${document.bare}` })],
    ['Content-Type', document => ({ 'content-type': `text/${document.bare}` })],
    ['an Idempotency-Key that is refused', document => ({ 'idempotency-key': `${document.bare}${'x'.repeat(256)}` })],
    ['X-Request-Id', document => ({ 'x-request-id': document.written })],
    ['X-Request-Id, bare', document => ({ 'x-request-id': document.bare })],
    ['X-Request-Id, among other things', document => ({ 'x-request-id': `req-cpf=${document.bare}` })],
  ])('as value of %s is nowhere in clear', async (_where, headers) => {
    const document = newDocument()
    for (const [path, body] of [
      ['send', mail()],
      ['batch', [mail()]],
    ] as const) {
      const answer = await gateway.call(company, 'POST', `/v1/email/${path}`, body, headers(document))
      expect(answer.status).toBeLessThan(500)
      if (answer.status === 202)
        await untilStatus(gateway, company, answer.body.outboxId ?? answer.body.data[0].outboxId, 'SENT')
    }
    await expectNowhere(document)
  })

  test.each<[string, (document: Document) => string]>([
    ['a filter', document => `/v1/emails?recipient=${encodeURIComponent(document.written)}`],
    ['a filter that finds nothing', document => `/v1/emails?tag=${encodeURIComponent(document.written)}`],
    ['a cursor', document => `/v1/emails?cursor=${document.bare}`],
    ['a query that nobody reads', document => `/v1/emails?cpf=${document.bare}`],
    ['the place of an id', document => `/v1/email/${encodeURIComponent(document.written)}`],
    ['the place of an id to explain', document => `/v1/email/${document.bare}/explain`],
    ['a route that is not there', document => `/people/${document.bare}?cpf=${document.bare}`],
    ['a URL that cannot be decoded', document => `/v1/email/%zz${document.bare}`],
    ['the inbox', document => `/admin/inbox/${document.bare}?cpf=${document.bare}`],
  ])('in the URL, as %s, is nowhere in clear', async (_where, path) => {
    const document = newDocument()
    const answer = await gateway.call(company, 'GET', path(document))
    expect(answer.status).toBeLessThan(500)
    await expectNowhere(document)
  })
})

describe('the address of a recipient is in no log line', () => {
  let addresses = 0
  const newAddress = (domain = 'in-the-clear.example') => `recipient.number${++addresses}@${domain}`
  const expectNotLogged = (address: string) =>
    expect(linesWith(gateway.logs(), [address, address.split('@')[0]!, encodeURIComponent(address)])).toEqual([])

  test('when it is sent', async () => {
    const [to, cc, bcc, replyTo, from] = [newAddress(), newAddress(), newAddress(), newAddress(), newAddress()]
    const body = { to: `Maria <${to}>`, cc: [cc], bcc: [bcc], replyTo, from, recipient: { email: to } }
    await untilStatus(gateway, company, await sendOk(gateway, company, body), 'SENT')
    for (const address of [to, cc, bcc, replyTo, from]) expectNotLogged(address)
  })

  test.each([
    ['throttle', 'RETRY_SCHEDULED'],
    ['reject', 'REJECTED'],
    ['bounce', 'BOUNCED'],
    ['complaint', 'COMPLAINED'],
  ])('when the provider answers to %s@', async (name, status) => {
    const outboxId = await sendOk(gateway, company, { to: `${name}@simulator.test` })
    await untilStatus(gateway, company, outboxId, status)
    expect(linesWith(gateway.logs(), [`${name}@simulator.test`])).toEqual([])
    await cancelLater(gateway, company, outboxId)
  })

  test('when it is looked for', async () => {
    const address = newAddress()
    await gateway.call(company, 'GET', `/v1/emails?recipient=${address}`)
    await gateway.call(company, 'GET', `/v1/emails?recipient=${encodeURIComponent(address)}x`)
    await gateway.call(company, 'GET', `/nothing/${address}`)
    await gateway.call(company, 'GET', `/v1/email/%zz${address}`)
    expectNotLogged(address)
  })

  test('when it is the request id', async () => {
    const address = newAddress()
    await send(gateway, company, mail(), { 'x-request-id': address })
    expectNotLogged(address)
  })

  test('when the database refuses the row', async () => {
    const address = newAddress()
    await rows(gateway, `alter table email_content add constraint for_a_test check (html <> '<p>boom</p>')`)
    const answer = await send(
      gateway,
      company,
      mail({ to: address, cc: [`cc${address}`], html: '<p>boom</p>', from: address }),
    )
    await rows(gateway, 'alter table email_content drop constraint for_a_test')
    expect([answer.status, answer.body.code]).toEqual([500, 'INTERNAL_ERROR'])
    expect(linesWith(gateway.logs(), ['for_a_test'])).not.toEqual([])
    expectNotLogged(address)
    expect(answer.text).not.toMatch(/for_a_test|constraint|pg/)
  })
})
