import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalJson } from './hashing.ts'

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** Another way of writing the same thing: every object's keys in reverse. */
function rewritten(value: Json): Json {
  if (Array.isArray(value)) return value.map(rewritten)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, inner]) => [key, rewritten(inner)]),
  )
}

const anyJson = fc.jsonValue({ maxDepth: 5 }) as fc.Arbitrary<Json>

test('the order of keys does not matter, at any depth', () => {
  fc.assert(fc.property(anyJson, value => canonicalJson(rewritten(value)) === canonicalJson(value)))
})

test('the result is JSON with the same meaning', () => {
  fc.assert(
    fc.property(anyJson, value => {
      expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)))
    }),
  )
})

test('two bodies that mean different things are written differently', () => {
  fc.assert(
    fc.property(anyJson, anyJson, (one, two) => {
      const same = canonicalJson(one) === canonicalJson(two)
      const alike = (value: Json) => JSON.parse(canonicalJson(value))
      if (same) expect(alike(one)).toEqual(alike(two))
    }),
  )
})

describe('what stays different', () => {
  test.each([
    ['the order of a list', ['a', 'b'], ['b', 'a']],
    ['text and number', { priority: '5' }, { priority: 5 }],
    ['null and absent', { cc: null }, {}],
    ['empty list and absent', { cc: [] }, {}],
    ['spelling', { to: 'A@b.c' }, { to: 'a@b.c' }],
    ['nesting', { a: { b: 1 } }, { a: 1, b: 1 }],
    ['a key that holds JSON of its own', { 'a":1,"b': 2 }, { a: 1, b: 2 }],
  ])('%s', (_, one, two) => {
    expect(canonicalJson(one)).not.toBe(canonicalJson(two))
  })
})

test('keys are sorted by code unit, also those that look like numbers', () => {
  expect(canonicalJson({ b: 1, a: { z: 1, y: [{ d: 1, c: 2 }] } })).toBe('{"a":{"y":[{"c":2,"d":1}],"z":1},"b":1}')
  expect(canonicalJson({ b: 1, '10': 1, '9': 1 })).toBe(canonicalJson({ '9': 1, '10': 1, b: 1 }))
})

test('blanks and escapes in the source do not matter', () => {
  expect(canonicalJson(JSON.parse('{ "to" : "caf\\u00e9" }'))).toBe(canonicalJson(JSON.parse('{"to":"café"}')))
  expect(canonicalJson(JSON.parse('{"n":1.0}'))).toBe(canonicalJson(JSON.parse('{"n":1e0}')))
})
