import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hashSecret, makeApiKey, parseApiKey, secretMatches } from './keys.ts'

const ID = '0123456789abcdef'
const SECRET = 'A'.repeat(40)
const PEPPER = 'p'.repeat(32)

describe('parsing', () => {
  test.each(['live', 'test'] as const)('sk_%s_<id>_<secret> is split into its parts', mode => {
    expect(parseApiKey(`sk_${mode}_${ID}_${SECRET}`)).toEqual({ mode, keyId: ID, secret: SECRET })
  })

  test.each([
    ['nothing', ''],
    ['another mode', `sk_prod_${ID}_${SECRET}`],
    ['no prefix', `${ID}_${SECRET}`],
    ['capitals in the id', `sk_live_${ID.toUpperCase()}_${SECRET}`],
    ['a short id', `sk_live_${ID.slice(1)}_${SECRET}`],
    ['a short secret', `sk_live_${ID}_${SECRET.slice(1)}`],
    ['a long secret', `sk_live_${ID}_${SECRET}A`],
    ['a space before', ` sk_live_${ID}_${SECRET}`],
    ['a line break after', `sk_live_${ID}_${SECRET}\n`],
    ['a second line', `sk_live_${ID}_${SECRET}\nX`],
    ['letters outside ASCII', `sk_live_${ID}_${'á'.repeat(40)}`],
  ])('%s is no key', (_, text) => {
    expect(parseApiKey(text)).toBeNull()
  })

  test('no text makes it throw', () => {
    fc.assert(fc.property(fc.string(), text => parseApiKey(text) === null))
  })
})

describe('making', () => {
  test('a new key can be parsed into the same parts', () => {
    fc.assert(
      fc.property(fc.constantFrom('live' as const, 'test' as const), mode => {
        const { apiKey, ...parts } = makeApiKey(mode)
        expect(parseApiKey(apiKey)).toEqual(parts)
      }),
    )
  })

  test('no two keys are the same', () => {
    const keys = Array.from({ length: 2000 }, () => makeApiKey('live'))
    expect(new Set(keys.map(key => key.keyId)).size).toBe(2000)
    expect(new Set(keys.map(key => key.secret)).size).toBe(2000)
  })

  test('every character is equally likely: a plain modulo would favour the first eight by a quarter', () => {
    const seen = new Map<string, number>()
    for (let made = 0; made < 2500; made++)
      for (const character of makeApiKey('live').secret) seen.set(character, (seen.get(character) ?? 0) + 1)
    expect(seen.size).toBe(62)
    const expected = (2500 * 40) / 62
    // Six standard deviations: fails by chance once in some ten million runs.
    for (const [character, count] of seen)
      expect(Math.abs(count - expected), character).toBeLessThan(6 * Math.sqrt(expected))
  })

  test('a random source that starts with unusable bytes is read again', () => {
    let calls = 0
    const key = makeApiKey('test', size => Buffer.alloc(size, ++calls === 1 || calls === 3 ? 255 : 1))
    expect(parseApiKey(key.apiKey)).toMatchObject({ keyId: '1'.repeat(16), secret: '1'.repeat(40) })
  })
})

describe('the stored hash', () => {
  test('matches its own secret and no other', () => {
    const hash = hashSecret(SECRET, PEPPER)
    expect(hash).toHaveLength(32)
    expect(secretMatches(SECRET, hash, PEPPER)).toBe(true)
    expect(secretMatches(`${SECRET.slice(1)}B`, hash, PEPPER)).toBe(false)
    expect(secretMatches('', hash, PEPPER)).toBe(false)
  })

  test('does not match under another pepper', () => {
    expect(secretMatches(SECRET, hashSecret(SECRET, PEPPER), `${PEPPER}x`)).toBe(false)
  })
})
