import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatAddress, type MailAddress, parseAddress, parseBareAddress } from './addresses.ts'

function accepted(input: string): MailAddress {
  const parsed = parseAddress(input)
  if (!parsed.ok) throw new Error(parsed.problem.message)
  return parsed.value
}

describe('addresses that are accepted', () => {
  test.each([
    ['a@b.c', 'a@b.c', null],
    ['  Maria.Silva+Loja@Example.COM.br ', 'Maria.Silva+Loja@example.com.br', null],
    ["o'neil_#!$%&*/=?^`{|}~-x@sub-domain.example.co", "o'neil_#!$%&*/=?^`{|}~-x@sub-domain.example.co", null],
    ['Maria <maria@example.com>', 'maria@example.com', 'Maria'],
    ['João  da Silva Jr. <joao@example.com>', 'joao@example.com', 'João  da Silva Jr.'],
    ['"Silva, Maria" <maria@example.com>', 'maria@example.com', 'Silva, Maria'],
    ['"a \\"b\\" \\\\ <c@d.e>" <maria@example.com>', 'maria@example.com', 'a "b" \\ <c@d.e>'],
    ['"Loja"<a@b.co>', 'a@b.co', 'Loja'],
    ['<a@b.co>', 'a@b.co', null],
    ['"" <a@b.co>', 'a@b.co', null],
    ['a@münchen.example', 'a@xn--mnchen-3ya.example', null],
    ['a@XN--MNCHEN-3YA.example', 'a@xn--mnchen-3ya.example', null],
    ['a@中国.中国', 'a@xn--fiqs8s.xn--fiqs8s', null],
    ['a@例え。テスト', 'a@xn--r8jz45g.xn--zckzah', null],
    ['a@1and1.com', 'a@1and1.com', null],
    [`${'a'.repeat(64)}@${'b'.repeat(63)}.com`, `${'a'.repeat(64)}@${'b'.repeat(63)}.com`, null],
  ])('%s', (input, address, displayName) => {
    const value = accepted(input)
    expect(value).toEqual({
      input,
      displayName,
      address,
      normalised: address.toLowerCase(),
      domain: address.split('@')[1],
    })
  })
})

describe('addresses that are refused', () => {
  test.each([
    ['an empty one', '', 'is empty'],
    ['spaces only', '   ', 'is empty'],
    ['no at sign', 'maria.example.com', 'has no @'],
    ['nothing before the at sign', '@example.com', 'nothing before'],
    ['nothing after the at sign', 'maria@', 'domain'],
    ['a space inside', 'maria silva@example.com', 'not allowed'],
    ['two at signs', 'a@b@example.com', 'not allowed'],
    ['a leading dot', '.a@example.com', 'misplaced dot'],
    ['a trailing dot before the at sign', 'a.@example.com', 'misplaced dot'],
    ['two dots', 'a..b@example.com', 'misplaced dot'],
    ['two dots in the domain', 'a@example..com', 'domain'],
    ['a leading dot in the domain', 'a@.example.com', 'domain'],
    ['a trailing dot in the domain', 'a@example.com.', 'domain'],
    ['a domain without a dot', 'a@localhost', 'domain'],
    ['a numeric top-level domain', 'a@example.123', 'domain'],
    ['an IP address', 'a@127.0.0.1', 'domain'],
    ['an IP address in hexadecimal', 'a@1.0x7f', 'domain'],
    ['an IP address in full-width digits', 'a@１２７.0.0.1', 'domain'],
    ['an address literal', 'a@[127.0.0.1]', 'address literal'],
    ['a label that begins with a hyphen', 'a@-example.com', 'domain'],
    ['a label that ends with a hyphen', 'a@example-.com', 'domain'],
    ['an underscore in the domain', 'a@ex_ample.com', 'domain'],
    ['a port', 'a@example.com:25', 'domain'],
    ['a path', 'a@example.com/x', 'domain'],
    ['a path in a look-alike', 'a@ex℀mple.com', 'domain'],
    ['a percent sign in the domain', 'a@ex%61mple.com', 'domain'],
    ['broken punycode', 'a@xn--a.example', 'domain'],
    ['a long label', `a@${'b'.repeat(64)}.com`, 'domain'],
    ['a long local part', `${'a'.repeat(65)}@example.com`, 'more than 64'],
    ['a long address', `a@${`${'b'.repeat(60)}.`.repeat(4)}example.com`, 'longer than 254'],
    ['a long input', `"${'n'.repeat(320)}" <a@example.com>`, 'longer than 320'],
    ['a quoted local part', '"maria silva"@example.com', 'quoted'],
    ['a comment', 'maria(loja)@example.com', 'comment'],
    ['a list', 'a@example.com, b@example.com', 'list'],
    ['a list with semicolons', 'a@example.com;b@example.com', 'list'],
    ['a group', 'Amigos: a@example.com;', ''],
    ['two addresses in brackets', '<a@example.com> <b@example.com>', 'more than one'],
    ['an address as a name', 'a@example.com <b@example.com>', 'must be quoted'],
    ['an unquoted comma in the name', 'Silva, Maria <a@example.com>', 'must be quoted'],
    ['an unbalanced quote', '"Maria <a@example.com>', 'must be quoted'],
    ['an encoded name', '=?utf-8?B?TWFyaWE=?= <a@example.com>', 'encoded'],
    ['a bracket that is not closed', 'Maria <a@example.com', 'not allowed'],
    ['a bracket that is not opened', 'a@example.com>', 'opening'],
    ['accents before the at sign', 'joão@example.com', 'outside ASCII'],
    ['a line break', 'a@example.com\r\nBcc: x@example.com', 'control'],
    ['a line break in the name', 'Maria\n <a@example.com>', 'control'],
    ['a trailing line break', 'a@example.com\n', 'control'],
    ['a tab', '\ta@example.com', 'control'],
    ['NUL', 'a\0@example.com', 'control'],
    ['a zero-width space', 'a\u200b@example.com', 'invisible'],
    ['a soft hyphen in the domain', 'a@exam\u00adple.com', 'invisible'],
    ['a direction override in the name', '"\u202emoc.knab" <a@example.com>', 'direction'],
    ['a byte order mark', '\ufeffa@example.com', 'invisible'],
  ])('%s', (_name, input, reason) => {
    const parsed = parseAddress(input)
    expect(parsed).toMatchObject({
      ok: false,
      problem: { code: 'INVALID_EMAIL', message: expect.stringContaining(reason) },
    })
  })

  test('a display name where only an address belongs', () => {
    expect(parseBareAddress('Maria <a@example.com>').ok).toBe(false)
    expect(parseBareAddress('<a@example.com>').ok).toBe(false)
    expect(parseBareAddress(' a@example.com ')).toMatchObject({ ok: true, value: { address: 'a@example.com' } })
  })

  test('no message repeats the address', () => {
    for (const input of [
      'secret..x@example.com',
      'secret@nodot',
      'secret',
      '"secret"@x.y',
      'Secret, S <secret@x.yz>',
    ]) {
      const parsed = parseAddress(input)
      expect(parsed.ok ? '' : parsed.problem.message.toLowerCase()).not.toContain('secret')
      expect(parsed.ok).toBe(false)
    }
  })
})

describe('what always holds', () => {
  const local = fc.stringMatching(/^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,10}(\.[A-Za-z0-9_-]{1,5}){0,2}$/)
  const domain = fc.stringMatching(/^([A-Za-z0-9]{1,8}\.){1,3}[A-Za-zé]{2,6}$/)
  const name = fc.oneof(fc.string({ maxLength: 30 }), fc.string({ unit: 'grapheme', maxLength: 20 }))
  const quote = (text: string) => `"${text.replace(/["\\]/g, '\\$&')}"`
  const written = fc.oneof(
    fc.tuple(local, domain).map(([l, d]) => `${l}@${d}`),
    fc.tuple(name, local, domain).map(([n, l, d]) => `${n} <${l}@${d}>`),
    fc.tuple(name, local, domain).map(([n, l, d]) => `${quote(n)} <${l}@${d}>`),
    fc.string({ unit: 'binary', maxLength: 40 }).map(text => `${text}@example.com`),
    fc.string({ unit: 'grapheme', maxLength: 40 }).map(text => `a@${text}.com`),
  )

  test('what is parsed, formatted and parsed again stays the same', () => {
    fc.assert(
      fc.property(written, input => {
        const first = parseAddress(input)
        if (!first.ok || formatAddress(first.value).length > 320) return
        const second = accepted(formatAddress(first.value))
        expect({ ...second, input: '' }).toEqual({ ...first.value, input: '' })
        expect(formatAddress(second)).toBe(formatAddress(first.value))
      }),
      { numRuns: 1000 },
    )
  }, 30_000)

  test('normalising twice changes nothing', () => {
    fc.assert(
      fc.property(written, input => {
        const first = parseAddress(input)
        if (!first.ok) return
        expect(accepted(first.value.normalised).normalised).toBe(first.value.normalised)
      }),
    )
  })

  test('no accepted address holds a control character, a space or anything outside ASCII', () => {
    fc.assert(
      fc.property(written, input => {
        const parsed = parseAddress(input)
        if (!parsed.ok) return
        expect(parsed.value.address).toMatch(/^[\x21-\x7e]+$/)
        expect(parsed.value.displayName ?? '').not.toMatch(/\p{Cc}/u)
      }),
    )
  })
})
