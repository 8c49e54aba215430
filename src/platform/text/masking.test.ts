import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { expectLinearTime } from '../../../test/support/growth.ts'
import { maskAnswer, maskDeep, maskDocument, maskEmail, maskSensitive } from './masking.ts'

describe('maskEmail', () => {
  test.each([
    ['user@example.com', 'u***@e***.com'],
    ['Maria.Silva@mail.empresa.com.br', 'M***@m***.br'],
    ['a@b.co', 'a***@b***.co'],
    ['root@localhost', 'r***@l***'],
    ['"odd@quote"@example.com', '"***@e***.com'],
    ['😀@例え.jp', '😀***@例***.jp'],
    ['@example.com', '***@e***.com'],
    ['nobody', '***'],
    ['', '***'],
  ])('%s → %s', (email, masked) => {
    expect(maskEmail(email)).toBe(masked)
  })

  test('masking twice changes nothing more', () => {
    fc.assert(fc.property(fc.emailAddress(), email => maskEmail(maskEmail(email)) === maskEmail(email)))
  })
})

test.each([
  ['529.982.247-25', '***.***.***-25'],
  ['52998224725', '***.***.***-25'],
  ['11.222.333/0001-81', '**.***.***/****-81'],
  ['12ABC34501DE35', '**.***.***/****-35'],
  ['12', '***'],
  ['', '***'],
])('maskDocument: %s → %s', (document, masked) => {
  expect(maskDocument(document)).toBe(masked)
})

describe('maskSensitive masks', () => {
  test.each([
    [`tag "sk_live_0123456789abcdef_${'Ab1'.repeat(13)}" not found`, 'tag "sk_live_0123456789abcdef_***" not found'],
    ['550 5.1.1 <user@example.com>: user unknown', '550 5.1.1 <u***@e***.com>: user unknown'],
    ['{"to":"user@example.com","cc":["b@x.org"]}', '{"to":"u***@e***.com","cc":["b***@x***.org"]}'],
    ['sent to user@example.com. Next', 'sent to u***@e***.com. Next'],
    ['a@x.com,b@y.com;c@z.com', 'a***@x***.com,b***@y***.com;c***@z***.com'],
    ['a@x.com@y.com', 'a***@x***.com@y***.com'],
    ['leak%40corp.example@victim.example', 'l***@c***.example@v***.example'],
    ['l***@c***.example@v***.example', 'l***@c***.example@v***.example'],
    ["user='ana@x.com'", "user='a***@x***.com'"],
    ['mailto:ana@x.com?subject=hi', 'mailto:a***@x***.com?subject=hi'],
    ['/v1/suppression/check?email=test%40example.com', '/v1/suppression/check?email=t***@e***.com'],
    ['bounces+ana=x.com@verp.example.net', 'b***@v***.net'],
    ['joão@exämple.com', 'j***@e***.com'],
    ['"ana maria"@x.com', '"***@x***.com'],
    ['user@[10.0.0.1]', 'u***@[***.1]'],
    ['postgres://app:secret@db.internal:5432/mail', 'postgres://app:s***@d***.internal:5432/mail'],
  ])('the address in %s', (text, masked) => {
    expect(maskSensitive(text)).toBe(masked)
  })

  test.each([
    ['CPF 529.982.247-25.', 'CPF ***.***.***-25.'],
    ['cpf=52998224725&x=1', 'cpf=***.***.***-25&x=1'],
    ['cpf52998224725', 'cpf***.***.***-25'],
    ['line\\n52998224725', 'line\\n***.***.***-25'],
    ['529982247-25', '***.***.***-25'],
    ['typed wrongly: 529.982.247-26', 'typed wrongly: ***.***.***-26'],
    ['CNPJ 11.222.333/0001-81', 'CNPJ **.***.***/****-81'],
    ['"11222333000181"', '"**.***.***/****-81"'],
    ['11222333/0001-81', '**.***.***/****-81'],
    ['?doc=11.222.333%2F0001-81', '?doc=**.***.***/****-81'],
    ['"11.222.333\\/0001-81"', '"**.***.***/****-81"'],
    ['cnpj11222333000181', 'cnpj**.***.***/****-81'],
    ['12ABC34501DE35 and 12.abc.345/01de-35', '**.***.***/****-35 and **.***.***/****-35'],
    ['52998224725@example.com', '5***@e***.com'],
    ['to %40@example.com', 'to %***@e***.com'],
    ['a%40%40@example.com', 'a***@e***.com'],
  ])('the document in %s', (text, masked) => {
    expect(maskSensitive(text)).toBe(masked)
  })

  test('every address, whatever is around it', () => {
    const around = fc.constantFrom('', ' ', '<', '>', '"', ',', ';', 'to=', '(', '\n', 'é ')
    fc.assert(
      fc.property(around, fc.emailAddress(), around, (before, email, after) => {
        expect(maskSensitive(before + email + after)).not.toContain(email)
      }),
      { numRuns: 1000 },
    )
  }, 30_000)
})

test('masking a masked text changes nothing more', () => {
  const text = 'to=ana.b+c@mail.x.com.br <user@example.com>, "o b"@x.com CPF 529.982.247-25 CNPJ 12ABC34501DE35'
  const once = maskSensitive(text)
  expect(once).toBe('to=a***@m***.br <u***@e***.com>, "***@x***.com CPF ***.***.***-25 CNPJ **.***.***/****-35')
  expect(maskSensitive(once)).toBe(once)
})

describe('maskSensitive leaves alone', () => {
  test.each([
    'at /work/node_modules/@fastify/swagger/index.js:10:3',
    'zod@4.6.7 and @scope only',
    'meet me @ noon',
    '018c2f5e-7a3b-7cde-8f01-52998224725a',
    'sha256:b4c9a289323b21a01c3e940f150eb9b8c542587f1abfd8f0e1cc52998224725f',
    '2025-10-19T10:30:00.000Z 1700000000000 ms',
    '52998224726',
    '11222333000182',
    '152998224725',
    '',
  ])('%s', text => {
    expect(maskSensitive(text)).toBe(text)
  })
})

describe('256 KB of hostile input takes linear time', () => {
  const units = [
    ...'@ a . 1 1. a@ @a %40 a%401 1%40 "@ " a. .@ - @. @1. / ?a= \' @[ é@ \\/ f'.split(' '),
    ...'111. 11.222.333/0001- 529982247- aaaaaaaaaaaa- 12345678909 a"@x.com'.split(' '),
  ]

  test.each(units)(
    'of %j',
    unit => {
      const fill = (size: number) => unit.repeat(Math.ceil(size / unit.length))
      expectLinearTime(fill, 256 * 1024, text => {
        maskSensitive(text)
        maskSensitive(`${text}@x.com`)
        maskSensitive(`x@${text}`)
      })
    },
    60_000,
  )
})

describe('maskDeep', () => {
  test('masks every text, however deep, and leaves what is no text', () => {
    expect(
      maskDeep({ code: '550 <maria@example.com>', list: [1, { by: 'ana@b.com' }], none: null, yes: true }),
    ).toEqual({
      code: '550 <m***@e***.com>',
      list: [1, { by: 'a***@b***.com' }],
      none: null,
      yes: true,
    })
  })

  test('removes what Postgres cannot store, and limits length and depth', () => {
    expect(maskDeep('a\0b\ud800')).toBe('ab\ufffd')
    expect(maskDeep('x'.repeat(5000))).toHaveLength(1000)
    const deep = Array.from({ length: 20 }).reduce<unknown>(inner => ({ inner }), 'end')
    expect(JSON.stringify(maskDeep(deep))).toContain('null')
  })
})

test.each([
  ['victim.person/x@secret.example', 'v***@s***.example'],
  ['victim.person&x@secret.example', 'v***@s***.example'],
  ['victim%40person@secret.example', 'v***@s***.example'],
  ['user=to=victim.person@secret.example', 'u***@s***.example'],
  ['sql.leak@victim.9', 's***@v***.9'],
  ['Maria <victim.person/x@secret.example>', 'M*** <v***@s***.example>'],
  ['"Ribeiro, Rafael" <rafael@example.org>', 'R*** <r***@e***.org>'],
  ['550 5.1.1 <rafael@example.org>: user unknown', '550 5.1.1 <r***@e***.org>: user unknown'],
  ['call 529 982 247 25, 529-982-247-25 or 529.982.247/25', 'call ***.***.***-25, ***.***.***-25 or ***.***.***-25'],
  ['11 222 333 0001 81', '**.***.***/****-81'],
  ['maria＠example.com and maria&#64;example.com', 'm***@e***.com and m***@e***.com'],
])('maskAnswer: %s → %s', (text, masked) => {
  expect(maskAnswer(text)).toBe(masked)
})

test('maskAnswer masks the name of a person beside the address, and no other name', () => {
  expect(maskAnswer({ name: 'acme', recipients: [{ name: 'Rafael Ribeiro', address: 'rafael@example.org' }] })).toEqual(
    {
      name: 'acme',
      recipients: [{ name: 'R***', address: 'r***@e***.org' }],
    },
  )
  expect(maskAnswer({ name: 'ana', address: '10.0.0.1' })).toEqual({ name: 'ana', address: '10.0.0.1' })
})

test.each([
  ['maria.silva @gmail.com', 'm***@g***.com'],
  ['maria.silva@ gmail.com', 'm***@ ***.com'],
  ['maria.silva@@gmail.com', 'm***@g***.com'],
  ['maria.silva.gmail.com', 'm***'],
  ['Maria <maria@example.com>', 'M*** <m***@e***.com>'],
])('maskAnswer masks %s where an address belongs, however it is mistyped', (address, masked) => {
  expect(maskAnswer({ to: [address], originalData: { to: address } })).toEqual({
    to: [masked],
    originalData: { to: masked },
  })
  expect(maskAnswer({ kind: 'cc', address })).toEqual({ kind: 'cc', address: masked })
})

test('maskAnswer leaves the bounds of a range as they are', () => {
  const range = { from: '2026-11-18T10:00:00.000Z', to: '2026-11-18T11:00:00.000Z' }
  expect(maskAnswer({ range })).toEqual({ range })
})

test('maskAnswer masks every text of an answer, whole and at any depth, names of fields and dates included', () => {
  const long = 'x'.repeat(5000)
  expect(
    maskAnswer({
      list: [{ to: 'Maria <maria@example.com>', 'ana@b.com': long }],
      at: new Date(0),
      count: 1,
      none: null,
      cpf: '529.982.247-25',
    }),
  ).toEqual({
    list: [{ to: 'M*** <m***@e***.com>', 'a***@b***.com': long }],
    at: '1970-01-01T00:00:00.000Z',
    count: 1,
    none: null,
    cpf: '***.***.***-25',
  })
})
