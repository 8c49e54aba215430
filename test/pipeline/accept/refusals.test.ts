import { Writable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { KeyRegistry } from '../../../src/companies/require-key.ts'
import { buildApp } from '../../../src/main/http.ts'
import { makeAccept } from '../../../src/pipeline/accept/compose.ts'
import { keyRing } from '../../../src/platform/encryption.ts'
import { HtmlChecker } from '../../../src/platform/html/check.ts'
import { makeLog } from '../../../src/platform/telemetry/log.ts'
import { hashEmail } from '../../../src/platform/text/hashing.ts'
import { loadConfig } from '../../../src/settings/config.ts'
import { DEFAULT_SUPPRESSION_POLICY } from '../../../src/suppression/rules.ts'
import { type Answer, call, startTestGateway, type TestCompany, type TestGateway } from '../../support/gateway.ts'
import { type Json, keptOf, mail, NOTHING_KEPT, rows, send, sendOk } from '../../support/mail.ts'
import { SHARED_SECRETS } from '../../support/second-gateway.ts'

const DAY_MS = 24 * 3_600_000
const KB = 1024
const MB = 1024 * KB
/** Nobody else's address has this in it, so that it can be looked for. */
const MARK = 'in-the-clear'
const TO = `${MARK}@refused.example`

let gateway: TestGateway

beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api', env: SHARED_SECRETS })
})
afterAll(() => gateway.stop())

const fromNow = (ms: number) => new Date(Date.now() + ms).toISOString()
const base64 = (bytes: number) => Buffer.alloc(bytes, 7).toString('base64')
const file = (change: Record<string, unknown> = {}) => ({ filename: 'a.txt', content: 'AAAA', ...change })
const many = <T>(count: number, make: (index: number) => T) => Array.from({ length: count }, (_, index) => make(index))
const addresses = (count: number) => many(count, index => `${MARK}${index}@refused.example`)

/** RFC 9457 with our members, the same id in header and body, nothing of the caller's address. */
function expectProblem(answer: Answer, status: number, code: string): void {
  expect([answer.status, answer.body?.code, answer.text.slice(0, 200)]).toEqual([status, code, expect.any(String)])
  expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/)
  expect(answer.body).toMatchObject({ type: expect.any(String), title: expect.any(String), status, code })
  expect(answer.body.message).toMatch(/\S/)
  expect(answer.body.requestId).toBe(answer.headers.get('x-request-id'))
  for (const error of answer.body.errors ?? []) {
    expect(error).toEqual({
      path: expect.any(String),
      code: expect.stringMatching(/^[A-Z_]+$/),
      message: expect.stringMatching(/\S/),
      ...(/^TOO_/.test(error.code) && { limit: expect.any(Number) }),
      ...(error.code === 'INVALID_TEMPLATE' && { rule: expect.stringMatching(/^[A-Z_]+$/) }),
      ...('unit' in error && { unit: expect.stringMatching(/^(characters|items|bytes|days)$/) }),
    })
  }
  expect(answer.text.toLowerCase()).not.toContain(MARK)
}

async function expectNoTrace(company: TestCompany): Promise<void> {
  expect(await keptOf(gateway, company.companyId)).toEqual(NOTHING_KEPT)
  expect(gateway.logs().toLowerCase()).not.toContain(MARK)
}

async function expectRefusal(body: unknown, status: number, code: string, path: string): Promise<void> {
  const company = await gateway.company()
  const answer = await send(gateway, company, body, { 'idempotency-key': 'refused' })
  expectProblem(answer, status, code)
  expect(answer.body.errors.map((error: Json) => error.path)).toContain(path)
  await expectNoTrace(company)
}

const refused = (change: Record<string, unknown>) => mail({ to: TO, ...change })

describe('an address is refused when it', () => {
  const BAD: [string, string][] = [
    ['is empty', ''],
    ['is a space', ' '],
    ['has no @', `${MARK}.refused.example`],
    ['has nothing before the @', '@refused.example'],
    ['has nothing after the @', `${MARK}@`],
    ['has a domain without a dot', `${MARK}@localhost`],
    ['has a space inside', `${MARK} x@refused.example`],
    ['has two @', `${MARK}@x@refused.example`],
    ['has two dots in its domain', `${MARK}@refused..example`],
    ['has a domain that begins with a dot', `${MARK}@.refused.example`],
    ['has a domain that begins with a hyphen', `${MARK}@-refused.example`],
    ['has an underscore in its domain', `${MARK}@re_fused.example`],
    ['begins with a dot', `.${MARK}@refused.example`],
    ['has a dot before the @', `${MARK}.@refused.example`],
    ['has two dots in a row', `${MARK}..x@refused.example`],
    ['is two, with a comma', `${MARK}@refused.example, x@refused.example`],
    ['is two, with a semicolon', `${MARK}@refused.example;x@refused.example`],
    ['is two in brackets', `<${MARK}@refused.example> <x@refused.example>`],
    ['is a group', `friends: ${MARK}@refused.example;`],
    ['has a comment', `${MARK}(comment)@refused.example`],
    ['has a quoted local part', `"${MARK}"@refused.example`],
    ['has an address literal', `${MARK}@[127.0.0.1]`],
    ['has an IP address as domain', `${MARK}@127.0.0.1`],
    ['has a numeric top-level domain', `${MARK}@refused.123`],
    ['has characters outside ASCII before the @', `${MARK}ã@refused.example`],
    ['has a line break and a header', `${MARK}@refused.example\r\nBcc: x@refused.example`],
    ['has a bare line feed', `${MARK}@refused.example\n`],
    ['has a tab', `\t${MARK}@refused.example`],
    ['has a zero-width space', `${MARK}\u200b@refused.example`],
    ['has a zero-width joiner in the domain', `${MARK}@refu\u200dsed.example`],
    ['has a byte order mark', `\ufeff${MARK}@refused.example`],
    ['has a soft hyphen', `${MARK}@refu\u00adsed.example`],
    ['has a bidi override', `${MARK}@refused\u202e.example`],
    ['has a bidi isolate in the name', `Maria\u2066 <${MARK}@refused.example>`],
    ['has a line break in the name', `Maria\r\nX: y <${MARK}@refused.example>`],
    ['has an encoded word as name', `=?utf-8?B?TWFyaWE=?= <${MARK}@refused.example>`],
    ['has a name with a comma that is not quoted', `Silva, Maria <${MARK}@refused.example>`],
    ['has an opening bracket only', `Maria <${MARK}@refused.example`],
    ['has a closing bracket only', `Maria ${MARK}@refused.example>`],
    ['has 65 characters before the @', `${MARK.padEnd(65, 'x')}@refused.example`],
    ['has a label of 64 characters', `${MARK}@${'x'.repeat(64)}.example`],
    ['has 255 characters', `${MARK.padEnd(64, 'x')}@${`${'y'.repeat(60)}.`.repeat(3)}${'z'.repeat(7)}`],
    ['is longer than any address', `${MARK}@${'refused.'.repeat(1000)}example`],
    ['is a javascript link', `javascript:${MARK}@refused.example`],
    ['is mailto', `mailto:${MARK}@refused.example`],
  ]

  test.each(BAD)('%s', async (_name, to) => {
    const company = await gateway.company()
    const answer = await send(gateway, company, mail({ to }), { 'idempotency-key': 'refused' })
    expect(answer.status).toBe(422)
    expectProblem(answer, 422, answer.body.code === 'INVALID_PAYLOAD' ? 'INVALID_PAYLOAD' : 'INVALID_EMAIL')
    expect(answer.body.errors[0].path).toBe('to')
    await expectNoTrace(company)
  })

  test.each([
    ['cc[1]', { cc: [TO.replace('@', '1@'), MARK] }],
    ['bcc[0]', { bcc: [MARK] }],
    ['from', { from: MARK }],
    ['replyTo', { replyTo: MARK }],
    ['replyTo[1]', { replyTo: [TO, MARK] }],
    ['recipient.email', { recipient: { email: MARK } }],
  ])('stands in %s, by name', async (path, change) => {
    await expectRefusal(refused(change), 422, 'INVALID_EMAIL', path)
  })
})

describe('a send is refused with', () => {
  type Row = [name: string, change: Record<string, unknown>, path: string, code?: string]

  const ADDRESSES: Row[] = [
    ['no to', { to: undefined }, 'to'],
    ['to null', { to: null }, 'to'],
    ['several to', { to: [TO, `x${TO}`] }, 'to'],
    ['a number as to', { to: 5 }, 'to'],
    ['an object as to', { to: { email: TO } }, 'to'],
    ['6 cc', { cc: addresses(6) }, 'cc'],
    ['6 bcc', { bcc: addresses(6) }, 'bcc'],
    ['cc as text', { cc: TO }, 'cc'],
    ['null in cc', { cc: [null] }, 'cc[0]'],
    ['an empty list of replyTo', { replyTo: [] }, 'replyTo'],
    ['6 replyTo', { replyTo: addresses(6) }, 'replyTo'],
  ]
  const CONTENT: Row[] = [
    ['no subject', { subject: undefined }, 'subject'],
    ['an empty subject', { subject: '' }, 'subject'],
    ['a subject of 151 characters', { subject: 'x'.repeat(151) }, 'subject'],
    ['a line feed in the subject', { subject: 'a\nBcc: x' }, 'subject'],
    ['a carriage return in the subject', { subject: 'a\rb' }, 'subject'],
    ['a line separator in the subject', { subject: 'a\u2028b' }, 'subject'],
    ['a next-line control in the subject', { subject: 'a\u0085b' }, 'subject'],
    ['a number as subject', { subject: 5 }, 'subject'],
    ['no content', { html: undefined }, 'html'],
    ['empty html', { html: '' }, 'html'],
    ['empty text', { text: '' }, 'text'],
    ['html as object', { html: {} }, 'html'],
    ['512 KB of html and a byte', { html: 'x'.repeat(512 * KB + 1) }, 'html'],
    ['512 KB of html and a byte, in characters of two', { html: `${'é'.repeat(256 * KB)}x` }, 'html'],
    ['512 KB of text and a byte', { text: 'x'.repeat(512 * KB + 1) }, 'text'],
    ['a script', { html: '<p>x</p><script>alert(1)</script>' }, 'html', 'INVALID_TEMPLATE'],
    ['a handler', { html: '<p onclick="x()">x</p>' }, 'html', 'INVALID_TEMPLATE'],
    ['a template, which there are none of yet', { template: 'welcome' }, 'template'],
    ['variables', { variables: { a: 1 } }, 'variables'],
  ]
  const HEADERS: Row[] = [
    ...[
      'From',
      'To',
      'Cc',
      'BCC',
      'Subject',
      'Sender',
      'Reply-To',
      'Return-Path',
      'Date',
      'Message-ID',
      'Received',
      'MIME-Version',
      'Content-Type',
      'Content-Transfer-Encoding',
      'DKIM-Signature',
      'Resent-To',
      'X-SES-CONFIGURATION-SET',
      'X-SMTPAPI',
      'X-Forwarded-To',
    ].map((name): Row => [`the header ${name}`, { headers: { [name]: 'x' } }, `headers.${name}`]),
    ['a line break in a header', { headers: { 'X-A': 'a\r\nBcc: x' } }, 'headers.X-A'],
    ['a line feed in a header', { headers: { 'X-A': 'a\nb' } }, 'headers.X-A'],
    ['a carriage return in a header', { headers: { 'X-A': 'a\rb' } }, 'headers.X-A'],
    ['NUL in a header', { headers: { 'X-A': 'a\0b' } }, 'headers.X-A'],
    ['a space in a header name', { headers: { 'X A': 'x' } }, 'headers.X A'],
    ['a colon in a header name', { headers: { 'X-A:': 'x' } }, 'headers.X-A:'],
    ['a line break in a header name', { headers: { 'X-A\r\nBcc': 'x' } }, 'headers.X-A\r\nBcc'],
    ['an empty header', { headers: { 'X-A': '' } }, 'headers.X-A'],
    ['a number as header', { headers: { 'X-A': 5 } }, 'headers.X-A'],
    ['a header twice', { headers: { 'X-A': '1', 'x-a': '2' } }, 'headers.x-a'],
    ['headers as list', { headers: ['X-A: 1'] }, 'headers'],
    [
      'List-Unsubscribe without brackets',
      { headers: { 'List-Unsubscribe': 'https://a.example' } },
      'headers.List-Unsubscribe',
    ],
    ['List-Unsubscribe as script', { headers: { 'List-Unsubscribe': '<javascript:x>' } }, 'headers.List-Unsubscribe'],
    [
      'List-Unsubscribe half open',
      { headers: { 'List-Unsubscribe': '<https://a.example' } },
      'headers.List-Unsubscribe',
    ],
    [
      'List-Unsubscribe-Post alone',
      { headers: { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' } },
      'headers.List-Unsubscribe-Post',
    ],
    [
      'List-Unsubscribe-Post with another value',
      { headers: { 'List-Unsubscribe': '<https://a.example>', 'List-Unsubscribe-Post': 'yes' } },
      'headers.List-Unsubscribe-Post',
    ],
  ]
  const ATTACHMENTS: Row[] = [
    ['11 attachments', { attachments: many(11, () => file()) }, 'attachments'],
    ['attachments as object', { attachments: file() }, 'attachments'],
    ['base64 with other characters', { attachments: [file({ content: 'not base64!!' })] }, 'attachments[0].content'],
    ['base64 of wrong length', { attachments: [file({ content: 'AAA' })] }, 'attachments[0].content'],
    ['base64 with a sign in the middle', { attachments: [file({ content: 'AA=AAAAA' })] }, 'attachments[0].content'],
    ['base64 of nothing but signs', { attachments: [file({ content: '====' })] }, 'attachments[0].content'],
    ['base64 as URL', { attachments: [file({ content: 'data:text/plain;base64,AAAA' })] }, 'attachments[0].content'],
    ['base64 for URLs', { attachments: [file({ content: 'A-_A' })] }, 'attachments[0].content'],
    ['base64 in lines', { attachments: [file({ content: 'AAAA\r\nAAAA' })] }, 'attachments[0].content'],
    ['an attachment without content', { attachments: [file({ content: undefined })] }, 'attachments[0].content'],
    ['an empty attachment', { attachments: [file({ content: '' })] }, 'attachments[0].content'],
    ['an attachment without a name', { attachments: [file({ filename: undefined })] }, 'attachments[0].filename'],
    [
      'a path as file name',
      { attachments: [file(), file({ filename: '../../etc/passwd' })] },
      'attachments[1].filename',
    ],
    ['a Windows path as file name', { attachments: [file({ filename: 'C:\\x.txt' })] }, 'attachments[0].filename'],
    ['a line break in a file name', { attachments: [file({ filename: 'a\r\nb.txt' })] }, 'attachments[0].filename'],
    ['a file name of 256', { attachments: [file({ filename: 'x'.repeat(256) })] }, 'attachments[0].filename'],
    ['a content type that is none', { attachments: [file({ contentType: 'pdf' })] }, 'attachments[0].contentType'],
    [
      'a line break in the content type',
      { attachments: [file({ contentType: 'a/b\r\nX: y' })] },
      'attachments[0].contentType',
    ],
    ['brackets in the content id', { attachments: [file({ contentId: '<logo>' })] }, 'attachments[0].contentId'],
    ['a file to be fetched', { attachments: [file({ path: 'https://a.example' })] }, 'attachments[0].path'],
    ['null among attachments', { attachments: [null] }, 'attachments[0]'],
  ]
  const RECIPIENT: Row[] = [
    ['a CPF that is none', { recipient: { cpfCnpj: '12345678900' } }, 'recipient.cpfCnpj'],
    ['a CPF with wrong check digits', { recipient: { cpfCnpj: '529.982.247-24' } }, 'recipient.cpfCnpj'],
    ['a CPF of one digit', { recipient: { cpfCnpj: '111.111.111-11' } }, 'recipient.cpfCnpj'],
    ['a CPF too short', { recipient: { cpfCnpj: '5299822472' } }, 'recipient.cpfCnpj'],
    ['a CNPJ with wrong check digits', { recipient: { cpfCnpj: '11.222.333/0001-82' } }, 'recipient.cpfCnpj'],
    ['a CNPJ of zeros', { recipient: { cpfCnpj: '00000000000000' } }, 'recipient.cpfCnpj'],
    ['an alphanumeric CNPJ with wrong check digits', { recipient: { cpfCnpj: '12ABC34501DE36' } }, 'recipient.cpfCnpj'],
    ['letters as check digits', { recipient: { cpfCnpj: '12ABC34501DEAB' } }, 'recipient.cpfCnpj'],
    ['a document as number', { recipient: { cpfCnpj: 52998224725 } }, 'recipient.cpfCnpj'],
    ['a short document hash', { recipient: { cpfCnpjHash: 'abc' } }, 'recipient.cpfCnpjHash'],
    ['a recipientId that is no UUID', { recipient: { recipientId: '7' } }, 'recipient.recipientId'],
    ['a recipient with another address', { recipient: { email: 'x@refused.example' } }, 'recipient.email'],
    ['an unknown field of recipient', { recipient: { cpf: '1' } }, 'recipient.cpf'],
    ['a line break in a name', { recipient: { nome: 'a\nb' } }, 'recipient.nome'],
    ['an empty external id of a recipient', { recipient: { externalId: '' } }, 'recipient.externalId'],
    ['recipient as text', { recipient: 'Maria' }, 'recipient'],
  ]
  const THE_REST: Row[] = [
    ['6 tags', { tags: many(6, String) }, 'tags'],
    ['tags as text', { tags: 'a' }, 'tags'],
    ['a number among tags', { tags: ['a', 5] }, 'tags[1]'],
    ['an empty tag', { tags: [''] }, 'tags[0]'],
    ['a line break in a tag', { tags: ['a\nb'] }, 'tags[0]'],
    ['priority 0', { priority: 0 }, 'priority'],
    ['priority 11', { priority: 11 }, 'priority'],
    ['priority 1.5', { priority: 1.5 }, 'priority'],
    ['priority as text', { priority: '5' }, 'priority'],
    ['priority null', { priority: null }, 'priority'],
    ['a negative delay', { delay: -1 }, 'delay'],
    ['a delay with a fraction', { delay: 0.5 }, 'delay'],
    ['a delay of more than 30 days', { delay: 30 * DAY_MS + 1 }, 'delay'],
    ['a delay as text', { delay: '1000' }, 'delay'],
    ['a delay of 1e400', { delay: 'PLACE' }, 'delay'],
    ['31 days ahead', { scheduledAt: fromNow(31 * DAY_MS) }, 'scheduledAt'],
    ['30 days and a minute ahead', { scheduledAt: fromNow(30 * DAY_MS + 60_000) }, 'scheduledAt'],
    ['the year 9999', { scheduledAt: '9999-12-31T23:59:59Z' }, 'scheduledAt'],
    ['words as time', { scheduledAt: 'tomorrow' }, 'scheduledAt'],
    ['a date without a time', { scheduledAt: '2030-01-01' }, 'scheduledAt'],
    ['a time without a zone', { scheduledAt: '2030-01-01T10:00:00' }, 'scheduledAt'],
    ['the 30th of February', { scheduledAt: '2027-02-30T10:00:00Z' }, 'scheduledAt'],
    ['a number as time', { scheduledAt: 1_900_000_000 }, 'scheduledAt'],
    ['delay and scheduledAt', { delay: 5, scheduledAt: fromNow(DAY_MS) }, 'delay'],
    ['an unknown retry policy', { retryPolicy: 'never' }, 'retryPolicy'],
    ['an unknown onUnknown', { onUnknown: 'drop' }, 'onUnknown'],
    ['an empty externalId', { externalId: '' }, 'externalId'],
    ['an externalId of 256', { externalId: 'x'.repeat(256) }, 'externalId'],
    ['an unknown field', { subjekt: 'x' }, 'subjekt'],
    ['a field in another case', { Subject: 'x' }, 'Subject'],
    ['a field in snake case', { reply_to: TO }, 'reply_to'],
  ]

  test.each([...ADDRESSES, ...CONTENT, ...HEADERS, ...ATTACHMENTS, ...RECIPIENT, ...THE_REST])(
    '%s',
    async (_name, change, path, code = 'INVALID_PAYLOAD') => {
      const body = JSON.stringify(refused(change)).replace('"PLACE"', '1e400')
      await expectRefusal(body, 422, code, path)
    },
  )

  test('attachments of more than 10 MB in all', async () => {
    const company = await gateway.company()
    const attachments = [file({ content: base64(6 * MB) }), file({ content: base64(4 * MB + 1) })]
    const answer = await send(gateway, company, refused({ attachments }), { 'idempotency-key': 'refused' })
    expect([413, 422]).toContain(answer.status)
    expectProblem(answer, answer.status, answer.status === 413 ? 'BODY_TOO_LARGE' : 'INVALID_PAYLOAD')
    await expectNoTrace(company)
  })

  test.each([
    ['a list', [mail({ to: TO })]],
    ['a text', JSON.stringify(TO)],
    ['a number', '5'],
    ['null', 'null'],
    ['true', 'true'],
  ])('%s instead of an object', async (_name, body) => {
    const company = await gateway.company()
    const answer = await send(gateway, company, body, { 'idempotency-key': 'refused' })
    expectProblem(answer, 422, 'INVALID_PAYLOAD')
    await expectNoTrace(company)
  })

  test('all its faults named at once', async () => {
    const company = await gateway.company()
    const answer = await send(gateway, company, { to: 'x', subject: '', html: '<p>', priority: 99, foo: 1 })
    expectProblem(answer, 422, 'INVALID_PAYLOAD')
    const paths = answer.body.errors.map((error: Json) => error.path)
    expect(paths.sort()).toEqual(['foo', 'priority', 'subject', 'to'])
  })

  test.each(['0000-01-01T00:00:00Z', '0001-01-01T00:00:00Z', '2026-01-01T00:00:00+23:59', '2026-01-01T00:00:00-20:00'])(
    '%s as time is refused or taken, never a failure of ours',
    async scheduledAt => {
      const company = await gateway.company()
      const answer = await send(gateway, company, mail({ scheduledAt }))
      expect([202, 422]).toContain(answer.status)
    },
  )
})

describe('what is just inside the rules is accepted:', () => {
  test.each<[string, Record<string, unknown>]>([
    ['a subject of 150', { subject: 'x'.repeat(150) }],
    ['a subject of one', { subject: 'x' }],
    ['512 KB of html', { html: 'x'.repeat(512 * KB) }],
    ['512 KB of html in characters of two bytes', { html: 'é'.repeat(256 * KB) }],
    ['512 KB of text', { text: 'x'.repeat(512 * KB) }],
    ['text alone', { html: undefined, text: 'x' }],
    ['5 cc and 5 bcc', { cc: addresses(5), bcc: addresses(5).map(one => `b${one}`) }],
    ['empty cc, bcc, tags, headers and attachments', { cc: [], bcc: [], tags: [], headers: {}, attachments: [] }],
    ['5 tags', { tags: many(5, String) }],
    ['10 attachments', { attachments: many(10, () => file()) }],
    ['a file name with dots and spaces', { attachments: [file({ filename: 'v1.2 final (2).tar.gz' })] }],
    ['priority 1', { priority: 1 }],
    ['priority 10', { priority: 10 }],
    ['priority 5.0', { priority: 5.0 }],
    ['delay 0', { delay: 0 }],
    ['delay of 30 days', { delay: 30 * DAY_MS }],
    ['almost 30 days ahead', { scheduledAt: fromNow(30 * DAY_MS - 1_000) }],
    ['a CPF', { recipient: { cpfCnpj: '52998224725' } }],
    ['a CPF with its signs', { recipient: { cpfCnpj: '529.982.247-25' } }],
    ['a CNPJ', { recipient: { cpfCnpj: '11222333000181' } }],
    ['a CNPJ with its signs', { recipient: { cpfCnpj: '11.222.333/0001-81' } }],
    ['an alphanumeric CNPJ', { recipient: { cpfCnpj: '12ABC34501DE35' } }],
    ['an alphanumeric CNPJ with its signs', { recipient: { cpfCnpj: '12.ABC.345/01DE-35' } }],
    ['an alphanumeric CNPJ in small letters', { recipient: { cpfCnpj: '12abc34501de35' } }],
    ['an address of 64 before the @', { to: `${'x'.repeat(64)}@example.com` }],
    ['an address with a plus', { to: 'maria+shop@example.com' }],
    ['an address with every permitted sign', { to: "!#$%&'*+/=?^_`{|}~-@example.com" }],
    ['an international domain', { to: 'maria@münchen.example' }],
    ['an address with spaces around', { to: '  maria@example.com ' }],
    ['a name without a name', { to: '<maria@example.com>' }],
    ['one replyTo', { replyTo: 'Help <help@example.com>' }],
    ['List-Unsubscribe by mail', { headers: { 'List-Unsubscribe': '<mailto:u@acme.example?subject=out>' } }],
    [
      'List-Unsubscribe with one click',
      {
        headers: {
          'List-Unsubscribe': '<https://acme.example/u>',
          'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
        },
      },
    ],
    ['an X- header', { headers: { 'X-Campaign': 'Olá' } }],
    ['threading headers', { headers: { 'In-Reply-To': '<a@b.example>', References: '<a@b.example>' } }],
    ['onUnknown hold', { onUnknown: 'hold' }],
  ])('%s', async (_name, change) => {
    const company = await gateway.company()
    await sendOk(gateway, company, change)
  })
})

describe('a suppressed', () => {
  const suppress = (address: string, change: { companyId?: string; expiresAt?: Date } = {}) =>
    rows(
      gateway,
      `insert into suppression_list (email_hash, company_id, reason, expires_at) values ($1, $2, 'MANUAL', $3)`,
      [hashEmail(address), change.companyId ?? null, change.expiresAt ?? null],
    )
  let made = 0
  const newAddress = () => `${MARK}${++made}@suppressed.example`

  test('to is refused with its hash, never with the address', async () => {
    const company = await gateway.company()
    const to = newAddress()
    await suppress(to)
    const body = mail({ to: `Maria <${to.toUpperCase()}>`, recipient: { externalId: 'c-1' } })
    const answer = await send(gateway, company, body, { 'idempotency-key': 'refused' })
    expectProblem(answer, 403, 'RECIPIENT_SUPPRESSED')
    expect(answer.body.recipient).toBe(hashEmail(to))
    expect(answer.text.toLowerCase()).not.toContain('suppressed.example')
    await expectNoTrace(company)
  })

  test('to and cc: the hash is that of the to', async () => {
    const company = await gateway.company()
    const [to, cc] = [newAddress(), newAddress()]
    for (const address of [cc, to]) await suppress(address)
    const answer = await send(gateway, company, mail({ to, cc: [cc] }))
    expectProblem(answer, 403, 'RECIPIENT_SUPPRESSED')
    expect(answer.body.recipient).toBe(hashEmail(to))
    await expectNoTrace(company)
  })

  test('to whose time is over is accepted again', async () => {
    const company = await gateway.company()
    const to = newAddress()
    await suppress(to, { expiresAt: new Date(Date.now() - 1_000) })
    await sendOk(gateway, company, { to })
  })

  test('to whose time is not over is refused', async () => {
    const company = await gateway.company()
    const to = newAddress()
    await suppress(to, { expiresAt: new Date(Date.now() + 60_000) })
    expect((await send(gateway, company, mail({ to }))).status).toBe(403)
  })

  test('to of another company is no concern of this one', async () => {
    const [own, other] = [await gateway.company(), await gateway.company()]
    const to = newAddress()
    await suppress(to, { companyId: other.companyId })
    await sendOk(gateway, own, { to })
    expectProblem(await send(gateway, other, mail({ to })), 403, 'RECIPIENT_SUPPRESSED')
    await expectNoTrace(other)
  })

  test('to on the list of the company and on that of all is refused like any other', async () => {
    const company = await gateway.company()
    const to = newAddress()
    await suppress(to)
    await suppress(to, { companyId: company.companyId })
    expectProblem(await send(gateway, company, mail({ to })), 403, 'RECIPIENT_SUPPRESSED')
  })

  test('cc and bcc are left out, named by hash in the answer and in the event', async () => {
    const company = await gateway.company()
    const [cc, bcc] = [newAddress(), newAddress()]
    for (const address of [cc, bcc]) await suppress(address)
    const body = mail({ cc: ['joao@example.com', cc], bcc: [bcc, 'ana@example.com'] })
    const answer = await send(gateway, company, body)
    expect(answer.status).toBe(202)
    expect(answer.body.suppressed).toEqual([hashEmail(cc), hashEmail(bcc)])
    expect(answer.text).not.toContain(MARK)
    const { body: email } = await gateway.call(company, 'GET', `/v1/email/${answer.body.outboxId}`)
    expect(email).toMatchObject({ to: ['maria@example.com'], cc: ['joao@example.com'], bcc: ['ana@example.com'] })
    expect(email.events[0]).toMatchObject({ type: 'QUEUED', metadata: { suppressed: [hashEmail(cc), hashEmail(bcc)] } })
    const left = await rows(
      gateway,
      `select kind, status from email_recipients where outbox_id = $1 and suppressed order by ordinal`,
      [answer.body.outboxId],
    )
    expect(left).toEqual([
      { kind: 'cc', status: 'REJECTED' },
      { kind: 'bcc', status: 'REJECTED' },
    ])
    expect(gateway.logs()).not.toContain(MARK)
  })

  test('cc on the list of the company and on that of all is left out once', async () => {
    const company = await gateway.company()
    const cc = newAddress()
    await suppress(cc)
    await suppress(cc, { companyId: company.companyId })
    const answer = await send(gateway, company, mail({ cc: [cc] }))
    expect([answer.status, answer.body.suppressed]).toEqual([202, [hashEmail(cc)]])
  })

  test('address beside another in the same moment harms only its own e-mail', async () => {
    const company = await gateway.company()
    const to = newAddress()
    await suppress(to)
    const answers = await Promise.all(
      many(20, index => send(gateway, company, mail({ to: index % 2 ? to : 'maria@example.com' }))),
    )
    expect(answers.map(answer => answer.status)).toEqual(many(20, index => (index % 2 ? 403 : 202)))
    expect(await keptOf(gateway, company.companyId)).toMatchObject({ email_outbox: 10, email_events: 10 })
  })
})

describe('every error is a problem document:', () => {
  test.each<[string, number, string, (company: TestCompany) => Promise<Answer>]>([
    ['no route', 404, 'NOT_FOUND', company => gateway.call(company, 'GET', `/nothing/${TO}`)],
    ['another method', 405, 'METHOD_NOT_ALLOWED', company => gateway.call(company, 'DELETE', '/v1/email/send')],
    [
      'a URL that cannot be decoded',
      400,
      'INVALID_REQUEST',
      company => gateway.call(company, 'GET', `/v1/email/%zz${MARK}`),
    ],
    ['no key', 401, 'UNAUTHENTICATED', () => gateway.call(null, 'POST', '/v1/email/send', mail({ to: TO }))],
    ['no JSON', 400, 'INVALID_JSON', company => send(gateway, company, `{"to":"${TO}"`)],
    [
      'a wrong key of the caller',
      400,
      'INVALID_IDEMPOTENCY_KEY',
      company => send(gateway, company, mail({ to: TO }), { 'idempotency-key': '' }),
    ],
    [
      'another media type',
      415,
      'UNSUPPORTED_MEDIA_TYPE',
      company => send(gateway, company, 'to=x', { 'content-type': 'text/plain' }),
    ],
    [
      'a wrong batch mode',
      422,
      'INVALID_PAYLOAD',
      company =>
        gateway.call(company, 'POST', '/v1/email/batch', [mail({ to: TO })], { 'x-batch-validation': 'loose' }),
    ],
    ['a wrong filter', 422, 'INVALID_PAYLOAD', company => gateway.call(company, 'GET', `/v1/emails?status=${MARK}`)],
    [
      'a wrong recipient filter',
      422,
      'INVALID_EMAIL',
      company => gateway.call(company, 'GET', `/v1/emails?recipient=${MARK}`),
    ],
    ['an administrator who is none', 401, 'ADMIN_UNAUTHENTICATED', () => gateway.call(null, 'GET', '/admin/inbox')],
  ])('%s', async (_name, status, code, ask) => {
    const company = await gateway.company()
    expectProblem(await ask(company), status, code)
    await expectNoTrace(company)
  })

  test('the Idempotency-Key is not kept for it', async () => {
    const company = await gateway.company()
    await send(gateway, company, mail({ to: MARK }), { 'idempotency-key': 'once' })
    const answer = await send(gateway, company, mail(), { 'idempotency-key': 'once' })
    expect([answer.status, answer.headers.get('idempotent-replayed')]).toEqual([202, null])
  })
})

const NO_TOPICS = { rules: async () => ({ topicArns: [], regions: [] }) } as never

describe('a sender, where mail leaves the machine,', () => {
  let app: Awaited<ReturnType<typeof buildApp>>
  let html: HtmlChecker
  let keys: KeyRegistry
  let url: string
  const lines: string[] = []

  /** The same app with a provider that is not capture, which this version cannot be configured to have. */
  beforeAll(async () => {
    const config = loadConfig({
      DATABASE_URL: gateway.databaseUrl,
      EMAIL_FROM: 'Gateway <gateway@sender.test>',
      ...SHARED_SECRETS,
    })
    const destination = new Writable({ write: (chunk, _encoding, done) => done(void lines.push(String(chunk))) })
    html = new HtmlChecker('a key')
    keys = new KeyRegistry(gateway.db.pool)
    const accept = makeAccept(config, gateway.db, html, () => {})
    app = await buildApp({
      db: gateway.db,
      database: { host: 'localhost', port: 5432, database: 'gateway' },
      folder: null,
      keys,
      pepper: config.hashPepper,
      providers: config.EMAIL_PROVIDER,
      sendRate: null,
      domains: {
        db: gateway.db,
        openProviders: async () => [],
        lookup: async () => [],
        operatorsDomain: 'operator.example',
      },
      region: 'us-east-1',
      suppression: DEFAULT_SUPPRESSION_POLICY,
      events: { inbox: { add: async () => true }, onReported() {}, onRefused() {}, sns: NO_TOPICS, resendSecrets: [] },
      accept: {
        ...accept,
        settings: { ...accept.settings, sender: { ...accept.settings.sender, captureOnly: false } },
      },
      webhooks: { keys: keyRing(config.encryptionKeys), allowPrivate: false, onEnqueued: () => {} },
      tokens: { add: async () => ({ granted: true, remaining: 1, retryAfterSeconds: 0 }) },
      log: makeLog({ level: 'trace', pretty: false, destination }),
      emailLog: () => {},
      trustProxy: false,
      onLoginRefused: () => {},
      adminSessions: { idleMinutes: 480, days: 7 },
      publicUrl: config.PUBLIC_URL,
      metrics: { contentType: 'text/plain', text: async () => '' },
      version: '0',
    })
    url = await app.listen({ host: '127.0.0.1', port: 0 })
  })
  afterAll(async () => {
    await app.close()
    await keys.close()
    await html.close()
  })

  const sendFrom = (company: { apiKey: string }, from: string | undefined) =>
    call(url, company, 'POST', '/v1/email/send', mail({ to: TO, from }), { 'idempotency-key': 'k' })

  test('large HTML of a company that has too much waiting is to come again later, and nothing of it is kept', async () => {
    const company = await gateway.company()
    const full = vi.spyOn(html, 'isFull').mockReturnValue(true)
    const large = mail({ to: TO, html: `<p>${'x'.repeat(9_000)}</p>` })
    const one = await call(url, company, 'POST', '/v1/email/send', large, { 'idempotency-key': 'k' })
    const batch = await call(url, company, 'POST', '/v1/email/batch', [mail({ to: TO }), large])
    for (const answer of [one, batch]) {
      expectProblem(answer, 503, 'SERVER_BUSY')
      expect(answer.headers.get('retry-after')).toBe('1')
    }
    await expectNoTrace(company)
    expect((await call(url, company, 'POST', '/v1/email/send', mail({ to: TO }))).status).toBe(202)
    full.mockRestore()
    expect((await call(url, company, 'POST', '/v1/email/send', large, { 'idempotency-key': 'k' })).status).toBe(202)
  })

  test.each([
    ['another domain', ['acme.example'], `${MARK}@other.example`],
    ['a subdomain', ['acme.example'], `${MARK}@mail.acme.example`],
    ['a domain that ends alike', ['acme.example'], `${MARK}@notacme.example`],
    ['the address of the gateway itself', ['acme.example'], 'gateway@sender.test'],
    ['any domain but that of EMAIL_FROM, without domains', [], `${MARK}@acme.example`],
    ['another address of that domain, without domains', [], `${MARK}@sender.test`],
  ])('%s is refused', async (_name, fromDomains, from) => {
    const company = await gateway.company({ fromDomains })
    const answer = await sendFrom(company, from)
    expectProblem(answer, 403, 'FROM_NOT_ALLOWED')
    expect(answer.body.errors).toMatchObject([{ path: 'from', code: 'FROM_NOT_ALLOWED' }])
    await expectNoTrace(company)
    expect(lines.join('')).not.toContain(MARK)
  })

  test('is named beside what is wrong with the HTML', async () => {
    const company = await gateway.company({ fromDomains: ['acme.example'] })
    const answer = await send(gateway, company, mail({ from: 'a@other.example', html: '<script>1</script>' }))
    expectProblem(answer, 422, 'INVALID_PAYLOAD')
    expect(answer.body.errors).toMatchObject([
      { path: 'html', code: 'INVALID_TEMPLATE' },
      { path: 'from', code: 'FROM_NOT_ALLOWED' },
    ])
  })

  test.each([
    ['of an allowed domain', ['acme.example', 'acme.test'], 'Shop <shop@ACME.test>'],
    ['that is EMAIL_FROM, without domains', [], 'Other Name <Gateway@Sender.test>'],
    ['that is not named, without domains', [], undefined],
  ])('%s is allowed', async (_name, fromDomains, from) => {
    const company = await gateway.company({ fromDomains })
    expect((await sendFrom(company, from)).status).toBe(202)
  })

  test('with a test key, which never leaves, is any without domains, and one of its domains with', async () => {
    const [free, bound] = [await gateway.company(), await gateway.company({ fromDomains: ['acme.example'] })]
    const testKeyOf = ({ companyId }: TestCompany) => gateway.key(companyId, { mode: 'test' })
    expect((await sendFrom(await testKeyOf(free), 'anyone@other.example')).status).toBe(202)
    expectProblem(await sendFrom(await testKeyOf(bound), 'anyone@other.example'), 403, 'FROM_NOT_ALLOWED')
  })

  test('that is not named is refused when EMAIL_FROM is not of the domains', async () => {
    const company = await gateway.company({ fromDomains: ['acme.example'] })
    expectProblem(await sendFrom(company, undefined), 403, 'FROM_NOT_ALLOWED')
    await expectNoTrace(company)
  })

  test('is refused in a batch by its place', async () => {
    const company = await gateway.company({ fromDomains: ['acme.example'] })
    const batch = [mail({ from: 'a@acme.example' }), mail({ from: 'a@other.example' })]
    const answer = await call(url, company, 'POST', '/v1/email/batch', batch)
    expectProblem(answer, 403, 'FROM_NOT_ALLOWED')
    expect(answer.body.errors[0].path).toBe('[1].from')
    await expectNoTrace(company)
  })
})

describe('a sender, where all is captured,', () => {
  test.each([
    ['outside the domains is refused', ['acme.example'], 'a@other.example', 403],
    ['of a subdomain is refused', ['acme.example'], 'a@mail.acme.example', 403],
    ['of the domains is allowed', ['acme.example'], 'a@acme.example', 202],
    ['that is not named is EMAIL_FROM', ['acme.example'], undefined, 202],
    ['of any domain is allowed without domains', [], 'a@other.example', 202],
  ])('%s', async (_name, fromDomains, from, status) => {
    const company = await gateway.company({ fromDomains })
    const answer = await send(gateway, company, refused({ from }), { 'idempotency-key': 'k' })
    expect(answer.status).toBe(status)
    if (status === 202) return
    expectProblem(answer, 403, 'FROM_NOT_ALLOWED')
    expect(answer.body.errors).toMatchObject([{ path: 'from', code: 'FROM_NOT_ALLOWED' }])
    expect(answer.body.message).toMatch(
      /: from: is not one of .* \(acme\.example\); .* company update NAME --from-domains/,
    )
    await expectNoTrace(company)
  })
})
