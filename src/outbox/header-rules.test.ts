import { describe, expect, test } from 'vitest'
import { ALLOWED_HEADERS, checkHeaders } from './header-rules.ts'

const codes = (headers: Record<string, string>) => checkHeaders(headers).map(problem => problem.code)

describe('headers a caller may set', () => {
  const special: Record<string, string> = {
    'List-Unsubscribe': '<https://x.example/u>',
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
  }

  test.each(ALLOWED_HEADERS)('%s', name => {
    const value = special[name] ?? 'value'
    expect(checkHeaders({ 'list-unsubscribe': '<https://x.example/u>', [name.toLowerCase()]: value })).toEqual([])
    expect(checkHeaders({ 'List-Unsubscribe': '<https://x.example/u>', [name]: value })).toEqual([])
  })

  test.each([
    'X-Entity-Ref-ID',
    'X-Mailer',
    'X-Priority',
    'x-pedido',
    'X-Auto-Response-Suppress',
    'X-Campaign_1.2',
    'X-Topic',
    'X-Author',
  ])('%s', name => {
    expect(checkHeaders({ [name]: 'Pedido nº 5' })).toEqual([])
  })

  test('none at all', () => {
    expect(checkHeaders({})).toEqual([])
  })
})

describe('headers that belong to the gateway or the provider', () => {
  test.each([
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
      'MIME-Version',
    ],
    ...['Content-Type', 'Content-Transfer-Encoding', 'Content-Disposition', 'DKIM-Signature', 'ARC-Seal', 'Received'],
    ...[
      'Authentication-Results',
      'Resent-To',
      'Errors-To',
      'Disposition-Notification-To',
      'Apparently-To',
      'X-',
      'Foo',
    ],
    ...[
      'X-SES-CONFIGURATION-SET',
      'x-ses-message-tags',
      'X-Amz-Security',
      'X-Amzn-Trace-Id',
      'X-Resend-Id',
      'X-SMTPAPI',
    ],
    ...['X-Google-DKIM-Signature', 'X-MS-Exchange-Organization-SCL', 'X-Spam-Status', 'X-Envelope-From', 'X-Sender'],
    ...[
      'X-Original-To',
      'X-Forwarded-For',
      'X-Gateway-Id',
      'X-Mailgun-Recipient-Variables',
      'X-To',
      'X-Authentication-Warning',
    ],
  ])('%s is refused', name => {
    expect(checkHeaders({ [name]: 'x' })).toEqual([{ name, code: 'HEADER_NOT_ALLOWED', message: expect.any(String) }])
  })
})

describe('names and values', () => {
  test.each([
    ['a space in the name', { 'X Foo': 'x' }],
    ['a colon in the name', { 'X-Foo:': 'x' }],
    ['a line break in the name', { 'X-Foo\r\nBcc': 'x' }],
    ['an accent in the name', { 'X-Ação': 'x' }],
    ['an empty name', { '': 'x' }],
    ['a long name', { [`X-${'a'.repeat(63)}`]: 'x' }],
    ['a line break in the value', { 'X-Foo': 'a\r\nBcc: b@c.d' }],
    ['NUL in the value', { 'X-Foo': 'a\0' }],
    ['a direction override in the value', { 'X-Foo': 'a\u202eb' }],
    ['a zero-width space in the value', { 'X-Foo': 'a\u200bb' }],
    ['a long value', { 'X-Foo': 'a'.repeat(999) }],
    ['no value', { 'X-Foo': ' ' }],
    ['accents in a structured header', { References: '<ação@x.example>' }],
    ['the same name twice', { 'X-Foo': 'a', 'x-foo': 'b' }],
    ['too many', Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`X-Foo-${i}`, 'x']))],
  ])('%s is refused', (_name, headers) => {
    expect(codes(headers as Record<string, string>)).toEqual(['HEADER_INVALID'])
  })

  test('twenty headers of 998 characters are fine', () => {
    expect(
      checkHeaders(Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`X-Foo-${i}`, 'x'.repeat(998)]))),
    ).toEqual([])
  })

  test('every problem names its header and does not contain its value', () => {
    const problems = checkHeaders({ From: 'secret', 'X-Ok': 'x', 'X-Bad': 'secret\n' })
    expect(problems.map(problem => problem.name)).toEqual(['From', 'X-Bad'])
    expect(JSON.stringify(problems)).not.toContain('secret')
  })
})

describe('unsubscribing', () => {
  test.each([
    '<https://x.example/u?id=1,2>',
    '<mailto:sair@x.example?subject=sair>',
    '<mailto:sair@x.example>, <https://x.example/u>',
    ' <https://x.example/u> ',
    '<HTTPS://x.example/u>',
  ])('%s is a good List-Unsubscribe', value => {
    expect(checkHeaders({ 'List-Unsubscribe': value })).toEqual([])
  })

  test.each([
    'https://x.example/u',
    '<http://x.example/u>',
    '<javascript:alert(1)>',
    '<https://>',
    '<mailto:>',
    '<https://x.example/u> <https://x.example/v>',
    '<https://x.example/u>,',
    '<https://x.example/u', // Never closed.
    'sair',
  ])('%s is not', value => {
    expect(codes({ 'List-Unsubscribe': value })).toEqual(['HEADER_INVALID'])
  })

  test('one click needs the exact words and an https link', () => {
    const post = { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }
    expect(checkHeaders({ ...post, 'list-unsubscribe': '<mailto:a@b.co>, <https://x.example/u>' })).toEqual([])
    expect(codes(post)).toEqual(['HEADER_INVALID'])
    expect(codes({ ...post, 'List-Unsubscribe': '<mailto:a@b.co>' })).toEqual(['HEADER_INVALID'])
    expect(codes({ 'List-Unsubscribe-Post': 'yes', 'List-Unsubscribe': '<https://x.example/u>' })).toEqual([
      'HEADER_INVALID',
    ])
  })
})
