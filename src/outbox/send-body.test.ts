import { describe, expect, test } from 'vitest'
import { bestMs } from '../../test/support/growth.ts'
import { SEND_LIMITS } from '../platform/text/send-limits.ts'
import { checkSchedule, type SendBodyInput, sendBodySchema } from './send-body.ts'

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

test('the smallest body is accepted and gets its defaults', () => {
  expect(sendBodySchema.parse(LEAST)).toMatchObject({ priority: 5, onUnknown: 'resend', subject: 'Hello', text: 'Hi' })
  expect(sendBodySchema.parse(LEAST).to).toMatchObject([{ address: 'maria@example.com', displayName: null }])
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
    ['a header that the gateway sets', { headers: { Received: 'x' } }, 'headers.Received'],
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
    ['an unknown field', { ccc: [] }],
    ['an unknown field in recipient', { recipient: { cpf: '1' } }],
    ['an unknown field in an attachment', { attachments: [{ ...file(1), path: '/etc/passwd' }] }],
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

  test('missing and wrong fields are named in one answer, each once', () => {
    const named = (body: object) => problemsOf(body).map(problem => problem.path)
    expect(named({})).toEqual(['to', 'subject', 'html'])
    expect(named({ cc: 'x' })).toEqual(['to', 'cc', 'subject', 'html'])
    expect(named({ to: 'maria', subject: 1, text: '' })).toEqual(['to', 'subject', 'text'])
    expect(named({ ...LEAST, subject: undefined, priority: 99 })).toEqual(['priority', 'subject'])
    expect(named({ to: 'a@b.example', template: 'welcome', subject: 1 })).toEqual(['subject'])
    expect(named({ ...LEAST, template: 'welcome' })).toEqual(['template'])
    expect(named({ ...LEAST, variables: {}, locale: 'en' })).toEqual(['variables', 'locale'])
    expect(problemsOf(null)).toHaveLength(1)
    expect(problemsOf([])).toHaveLength(1)
  })

  test('a content id that two files have is refused at the second', () => {
    const inline = (contentId: string) => ({ ...file(1), contentId })
    expect(problemsOf({ ...LEAST, attachments: [file(1), inline('a'), inline('b'), file(1), inline('a')] })).toEqual([
      { path: 'attachments.4.contentId', message: 'is the same as that of attachments[1]' },
    ])
    expect(problemsOf({ ...LEAST, attachments: [inline('a'), inline('A'), file(1), file(1)] })).toEqual([])
  })

  test('an emoji is one character', () => {
    expect(problemsOf({ ...LEAST, subject: '😀'.repeat(150) })).toEqual([])
    expect(pathsOf({ ...LEAST, subject: '😀'.repeat(151) })).toEqual(['subject'])
  })

  test('a text with many emoji is looked at like any other', () => {
    const long = (max: number, end: string) => `${'😀'.repeat(max - end.length)}${end}`
    expect(pathsOf({ ...LEAST, subject: long(150, '\r\nBcc: x') })).toEqual(['subject'])
    expect(pathsOf({ ...LEAST, externalId: long(255, '\n') })).toEqual(['externalId'])
    expect(pathsOf({ ...LEAST, recipient: { nome: long(200, '\u202e'), cpfCnpj: long(20, '1') } })).toEqual([
      'recipient.cpfCnpj',
      'recipient.nome',
    ])
    const attachments = [{ ...file(1), filename: long(255, '/../x') }]
    expect(pathsOf({ ...LEAST, attachments })).toEqual(['attachments.0.filename'])
  })

  test('messages about sizes give the size and the limit', () => {
    const [text] = problemsOf({ ...LEAST, text: 'é'.repeat(SEND_LIMITS.CONTENT_BYTES) })
    expect(text!.message).toBe('must not be larger than 524288 bytes, has 1048576')
    const [files] = problemsOf({ ...LEAST, attachments: [file(SEND_LIMITS.ATTACHMENT_BYTES), file(1)] })
    expect(files!.message).toBe('must not be larger than 10485760 bytes (10 MB) in all, have 10485761')
  })

  test('no message repeats the address it refuses', () => {
    for (const { message } of problemsOf({ ...LEAST, to: 'maria@exam ple.com', cc: ['joao@@example.com'] }))
      expect(message).not.toMatch(/maria|joao/)
  })
})

describe('text that reads differently from what it contains', () => {
  const HIDING: Record<string, string> = {
    'a right-to-left override': 'photo\u202egpj.exe',
    'an isolate': 'a\u2066b',
    'a zero-width space': 'pay\u200bpal',
    'a zero-width joiner between letters': 'pay\u200dpal',
    'a byte order mark': '\ufeffx',
    'an ideographic variation selector between letters': 'pay\u{e0100}pal',
    'a run of selectors after a Han character': '漢\u{e0101}\u{e0102}',
    'a Mongolian variation selector between letters': 'pay\u180bpal',
    'an invisible Khmer vowel': 'pay\u17b4pal',
    'an invisible musical symbol': 'pay\u{1d173}pal',
    'a control character': 'a\u0007b',
    'an escape': 'a\u001b[2Jb',
    'an encoded word': '=?utf-8?B?SGk=?=',
    'an encoded word inside': 'Re: =?ISO-8859-1?q?a?= x',
  }
  const FIELDS: [string, (text: string) => object][] = [
    ['subject', text => ({ subject: text })],
    ['to', text => ({ to: `"${text}" <maria@example.com>` })],
    ['from', text => ({ from: `"${text}" <maria@example.com>` })],
    ['replyTo', text => ({ replyTo: `"${text}" <maria@example.com>` })],
    ['attachments.0.filename', text => ({ attachments: [{ ...file(1), filename: text }] })],
    ['recipient.nome', text => ({ recipient: { nome: text } })],
    ['recipient.razaoSocial', text => ({ recipient: { razaoSocial: text } })],
  ]
  test.each(
    FIELDS.flatMap(([path, make]) => Object.entries(HIDING).map(([name, text]) => ({ path, name, make, text }))),
  )('$name in $path is refused', ({ path, make, text }) => {
    expect(pathsOf({ ...LEAST, ...make(text) })).toEqual([path])
  })

  test.each([
    'Família 👨‍👩‍👧‍👦 e 👩‍💻',
    'می‌خواهم کتاب‌ها',
    'क्‍ष और नमस्ते',
    'ශ්‍රී ලංකා',
    'שלום עולם',
    '葛\u{e0100}城市の辻\u{e0101}さん',
    'ᠮᠤᠩᠭᠤᠯ\u180b ᠬᠡᠯᠡ',
    '❤\ufe0f 1\ufe0f⃣ ☎\ufe0e',
    'a =? b ?= c, 1+1=?',
    '50% off – só hoje?',
  ])('%s is accepted as subject, name and file name', text => {
    expect(FIELDS.flatMap(([, make]) => problemsOf({ ...LEAST, ...make(text) }))).toEqual([])
  })

  test.each(['logo@acme', 'image001.png@01DA7B.F3C3', 'ii_lx$1'])('%s is a content id', contentId => {
    expect(problemsOf({ ...LEAST, attachments: [{ ...file(1), contentId }] })).toEqual([])
  })
  test.each(['lógo', 'a b', '"a"', 'a\\b', 'a,b', 'a;b', '👩'])('%s is none', contentId => {
    expect(pathsOf({ ...LEAST, attachments: [{ ...file(1), contentId }] })).toEqual(['attachments.0.contentId'])
  })
})

describe('14 MB in a field of one line', () => {
  const FIELDS: [string, (text: string) => object][] = [
    ['to', to => ({ to })],
    ['subject', subject => ({ subject })],
    ['tags.0', tag => ({ tags: [tag] })],
    ['scheduledAt', scheduledAt => ({ scheduledAt })],
    ['attachments.0.filename', filename => ({ attachments: [{ ...file(1), filename }] })],
    ['attachments.0.contentType', contentType => ({ attachments: [{ ...file(1), contentType }] })],
    ['recipient.nome', nome => ({ recipient: { nome } })],
    ['recipient.razaoSocial', razaoSocial => ({ recipient: { razaoSocial } })],
    ['recipient.cpfCnpj', cpfCnpj => ({ recipient: { cpfCnpj } })],
  ]
  const TEXTS = ['x', ' ', '\u200d', '=?a'].map(unit => unit.repeat(Math.floor(14e6 / unit.length)))

  test.each(FIELDS)('is refused by its length, without a scan that takes time: %s', (path, make) => {
    for (const text of TEXTS) {
      const body = { ...LEAST, ...make(text) }
      // A content type also has a pattern, which is documented in the schema and cheap to match.
      const problems = problemsOf(body).filter(one => !one.message.startsWith('must be a media type'))
      expect(problems).toEqual([{ path, message: expect.stringMatching(/^Too big|^must be a time/) }])
      // Measured 0.1 to 20 ms (zod counts code points); a scan of the subject took 1.4 s.
      expect(bestMs(() => problemsOf(body), 3)).toBeLessThan(250)
    }
  })
})

describe('fields that depend on each other', () => {
  test.each<[string, object, string]>([
    ['no content at all', { text: undefined }, 'html'],
    ['a delay beside a time', { delay: 1, scheduledAt: '2026-01-01T00:00:00Z' }, 'delay'],
    ['a recipient with another address', { recipient: { email: 'joao@example.com' } }, 'recipient.email'],
  ])('%s is refused', (_, change, path) => {
    expect(pathsOf({ ...LEAST, ...change })).toEqual([path])
  })

  test("the recipient's address may be spelt in another case than to", () => {
    expect(problemsOf({ ...LEAST, recipient: { email: 'MARIA@EXAMPLE.COM' } })).toEqual([])
  })
})

describe('the time to send', () => {
  const now = new Date('2026-01-01T00:00:00Z')

  test('is refused with its limit, in days', () => {
    expect(checkSchedule('2026-02-01T00:00:00Z', now)).toEqual({
      code: 'TOO_LARGE',
      message: 'must not be more than 30 days ahead',
      limit: 30,
      unit: 'days',
    })
  })
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
