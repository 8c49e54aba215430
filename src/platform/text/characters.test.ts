import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  countCharacters,
  firstCharacters,
  HOSTILE_CHARACTERS,
  hasHostileCharacters,
  hasHostileCharactersInProse,
  hasMoreCharacters,
} from './characters.ts'

const HOSTILE: Record<string, string> = {
  'a line feed': 'a\nb',
  'a carriage return': 'a\rb',
  NUL: 'a\0b',
  'a C1 control': 'a\u0085b',
  'a zero-width space': 'a\u200bb',
  'a joiner between letters': 'a\u200db',
  'a right-to-left override': 'a\u202eb',
  'a bidi isolate': 'a\u2066b',
  'an Arabic letter mark': 'a\u061cb',
  'a byte order mark': '\ufeffab',
  'a soft hyphen': 'a\u00adb',
  'a line separator': 'a\u2028b',
  'a tag character': 'a\u{e0041}b',
  'a lone surrogate': 'a\ud800b',
}

describe('hostile characters', () => {
  for (const [name, text] of Object.entries(HOSTILE)) {
    test(`${name} is found by all three`, () => {
      expect(HOSTILE_CHARACTERS.test(text)).toBe(true)
      expect(hasHostileCharacters(text)).toBe(true)
      expect(hasHostileCharactersInProse(text)).toBe(true)
    })
  }

  test('ordinary text in any language is not hostile', () => {
    for (const text of ['Olá, você!', '请确认您的邮箱', 'أهلا بك', 'Größe: 5 < 6', '🎉 Promoção', '']) {
      expect(hasHostileCharacters(text)).toBe(false)
      expect(hasHostileCharactersInProse(text)).toBe(false)
    }
  })

  test('prose may contain joined emoji, which are refused in addresses and headers', () => {
    for (const text of [
      '👩‍💻 Vaga nova',
      'Família 👨‍👩‍👧‍👦',
      '🏳️‍🌈',
      '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}',
    ]) {
      expect(hasHostileCharactersInProse(text)).toBe(false)
      expect(hasHostileCharacters(text)).toBe(true)
    }
  })
})

describe('characters are counted', () => {
  const TEXT = fc
    .array(fc.constantFrom('a', 'é', '😀', '\ud83d', '\ude00'), { maxLength: 12 })
    .map(parts => parts.join(''))

  test('as code points, by the schemas, too', () => {
    fc.assert(
      fc.property(TEXT, fc.nat(12), (text, max) => {
        expect(countCharacters(text)).toBe([...text].length)
        expect(hasMoreCharacters(text, max)).toBe([...text].length > max)
        expect(z.string().max(max).safeParse(text).success).toBe(!hasMoreCharacters(text, max))
      }),
    )
  })

  test('and an emoji is not cut in half', () => {
    expect(firstCharacters('ab😀😀', 3)).toBe('ab😀')
    expect(firstCharacters('ab😀', 3)).toBe('ab😀')
  })
})
