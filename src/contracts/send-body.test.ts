import { describe, expect, test } from 'vitest'
import { checkSchedule, SEND_LIMITS, type SendBodyInput, sendBodySchema } from './send-body.ts'

const LEAST = { to: 'maria@example.com', subject: 'Hello', text: 'Hi' } satisfies SendBodyInput

function problemsOf(body: unknown): { path: string; message: string }[] {
  const parsed = sendBodySchema.safeParse(body)
  return parsed.success
    ? []
    : parsed.error.issues.map(issue => ({ path: issue.path.join('.'), message: issue.message }))
}

const pathsOf = (body: unknown) => [...new Set(problemsOf(body).map(problem => problem.path))]
const times = <T>(count: number, make: (index: number) => T) => Array.from({ length: count }, (_, index) => make(index))
const someone = (index: number) => `person${index}@example.com`
const file = (bytes: number) => ({ filename: 'a.pdf', content: Buffer.alloc(bytes).toString('base64') })

test('the least body is enough, and gets its defaults', () => {
  expect(sendBodySchema.parse(LEAST)).toMatchObject({ priority: 5, onUnknown: 'resend', subject: 'Hello', text: 'Hi' })
  expect(sendBodySchema.parse(LEAST).to).toMatchObject({ address: 'maria@example.com', displayName: null })
})

test('everything at once, at its limits, is accepted', () => {
  const body = {
    ...LEAST,
    to: 'Maria <Maria@Example.com>',
    cc: times(5, someone),
    bcc: times(5, someone),
    from: 'Shop <shop@example.com>',
    replyTo: times(5, someone),
    subject: 'x'.repeat(150),
    html: 'x'.repeat(SEND_LIMITS.CONTENT_BYTES),
    headers: { 'X-Order': '1' },
    tags: times(5, index => `${index}`.padEnd(64, 'x')),
    attachments: [...times(9, () => file(1)), file(SEND_LIMITS.ATTACHMENT_BYTES - 9)],
    recipient: {
      externalId: 'x'.repeat(255),
      cpfCnpj: '529.982.247-25',
      razaoSocial: 'M2 Ltda',
      nome: 'Maria',
      email: 'maria@EXAMPLE.com',
    },
    externalId: 'BOL-1',
    priority: 10,
    delay: SEND_LIMITS.SCHEDULE_MS,
    retryPolicy: 'patient',
    onUnknown: 'hold',
  }
  expect(problemsOf(body)).toEqual([])
})

describe('each field by itself', () => {
  test.each<[string, object, string]>([
    ['no to', { to: undefined }, 'to'],
    ['a list of to', { to: ['a@example.com'] }, 'to'],
    ['a bad to', { to: 'maria' }, 'to'],
    ['two addresses in to', { to: 'a@example.com, b@example.com' }, 'to'],
    ['six cc', { cc: times(6, someone) }, 'cc'],
    ['a bad cc', { cc: [someone(1), 'x'] }, 'cc.1'],
    ['six bcc', { bcc: times(6, someone) }, 'bcc'],
    ['six replyTo', { replyTo: times(6, someone) }, 'replyTo'],
    ['no subject', { subject: undefined }, 'subject'],
    ['an empty subject', { subject: '' }, 'subject'],
    ['151 characters', { subject: 'x'.repeat(151) }, 'subject'],
    ['a line break in the subject', { subject: 'a\r\nBcc: x@example.com' }, 'subject'],
    ['a NUL in the subject', { subject: 'a\0b' }, 'subject'],
    ['a Unicode line separator in the subject', { subject: 'a\u2028b' }, 'subject'],
    ['an empty text', { text: '' }, 'text'],
    ['a text one byte too large', { text: 'x'.repeat(SEND_LIMITS.CONTENT_BYTES + 1) }, 'text'],
    ['an html that is too large in bytes only', { html: 'é'.repeat(SEND_LIMITS.CONTENT_BYTES / 2 + 1) }, 'html'],
    ['six tags', { tags: times(6, String) }, 'tags'],
    ['a long tag', { tags: ['x'.repeat(65)] }, 'tags.0'],
    ['a header of ours', { headers: { Received: 'x' } }, 'headers.Received'],
    ['a header with a line break', { headers: { 'X-Order': 'a\r\nBcc: b@example.com' } }, 'headers.X-Order'],
    ['eleven attachments', { attachments: times(11, () => file(1)) }, 'attachments'],
    ['10 MB and a byte of attachments', { attachments: [file(SEND_LIMITS.ATTACHMENT_BYTES), file(1)] }, 'attachments'],
    ['a path as file name', { attachments: [{ ...file(1), filename: '../x' }] }, 'attachments.0.filename'],
    ['no base64', { attachments: [{ filename: 'a', content: 'né' }] }, 'attachments.0.content'],
    ['base64 cut short', { attachments: [{ filename: 'a', content: 'QUI' }] }, 'attachments.0.content'],
    ['a content id in brackets', { attachments: [{ ...file(1), contentId: '<a>' }] }, 'attachments.0.contentId'],
    ['a media type that is none', { attachments: [{ ...file(1), contentType: 'pdf' }] }, 'attachments.0.contentType'],
    ['a CPF with wrong digits', { recipient: { cpfCnpj: '52998224726' } }, 'recipient.cpfCnpj'],
    ['a short document hash', { recipient: { cpfCnpjHash: 'ab' } }, 'recipient.cpfCnpjHash'],
    ['a recipientId that is no UUID', { recipient: { recipientId: '7' } }, 'recipient.recipientId'],
    ['priority 0', { priority: 0 }, 'priority'],
    ['priority 11', { priority: 11 }, 'priority'],
    ['priority 1.5', { priority: 1.5 }, 'priority'],
    ['priority as text', { priority: '5' }, 'priority'],
    ['a negative delay', { delay: -1 }, 'delay'],
    ['a delay of more than 30 days', { delay: SEND_LIMITS.SCHEDULE_MS + 1 }, 'delay'],
    ['a date without a zone', { scheduledAt: '2026-01-01T00:00:00' }, 'scheduledAt'],
    ['a day that does not exist', { scheduledAt: '2026-02-30T00:00:00Z' }, 'scheduledAt'],
    ['an unknown policy', { retryPolicy: 'never' }, 'retryPolicy'],
    ['an unknown onUnknown', { onUnknown: 'drop' }, 'onUnknown'],
  ])('%s is refused at that field', (_, change, path) => {
    expect(pathsOf({ ...LEAST, ...change })).toEqual([path])
  })

  test.each<[string, object]>([
    ['a field nobody knows', { ccc: [] }],
    ['a field nobody knows in recipient', { recipient: { cpf: '1' } }],
    ['a field nobody knows in an attachment', { attachments: [{ ...file(1), path: '/etc/passwd' }] }],
  ])('%s is refused, not dropped', (_, change) => {
    const parsed = sendBodySchema.safeParse({ ...LEAST, ...change })
    expect(parsed.error?.issues.map(issue => issue.code)).toEqual(['unrecognized_keys'])
  })

  test('several wrong fields are all named', () => {
    expect(pathsOf({ to: 'x', subject: '', text: 'Hi', priority: 99 }).toSorted()).toEqual([
      'priority',
      'subject',
      'to',
    ])
  })

  test('no message repeats the address it refuses', () => {
    for (const { message } of problemsOf({ ...LEAST, to: 'maria@exam ple.com', cc: ['joao@@example.com'] }))
      expect(message).not.toMatch(/maria|joao/)
  })
})

describe('what belongs together', () => {
  test.each<[string, object, string]>([
    ['no content at all', { text: undefined }, 'html'],
    ['a template beside a text', { template: 'welcome' }, 'template'],
    ['variables without a template', { variables: { a: 1 } }, 'variables'],
    ['a delay beside a time', { delay: 1, scheduledAt: '2026-01-01T00:00:00Z' }, 'delay'],
    ['a recipient with another address', { recipient: { email: 'joao@example.com' } }, 'recipient.email'],
  ])('%s is refused', (_, change, path) => {
    expect(pathsOf({ ...LEAST, ...change })).toEqual([path])
  })

  test('a template needs neither subject nor content', () => {
    expect(problemsOf({ to: LEAST.to, template: 'welcome', variables: { name: 'Maria', items: [{ n: 1 }] } })).toEqual(
      [],
    )
  })

  test('variables have a limit', () => {
    const variables = { big: 'x'.repeat(SEND_LIMITS.VARIABLES_BYTES) }
    expect(pathsOf({ to: LEAST.to, template: 'welcome', variables })).toEqual(['variables'])
  })

  test("the recipient's address may be spelt in another case than to", () => {
    expect(problemsOf({ ...LEAST, recipient: { email: 'MARIA@EXAMPLE.COM' } })).toEqual([])
  })
})

describe('the time to send', () => {
  const now = new Date('2026-01-01T00:00:00Z')
  const ahead = (ms: number) => new Date(now.getTime() + ms).toISOString()

  test.each([
    ['not given', undefined, true],
    ['in a minute', ahead(60_000), true],
    ['in 30 days', ahead(SEND_LIMITS.SCHEDULE_MS), true],
    ['in 30 days, in another zone', '2026-01-30T21:00:00-03:00', true],
    ['in 30 days and a millisecond', ahead(SEND_LIMITS.SCHEDULE_MS + 1), false],
    ['next year', '2027-01-01T00:00:00Z', false],
  ])('%s', (_, scheduledAt, fine) => {
    expect(checkSchedule(scheduledAt, now) === null).toBe(fine)
  })
})
