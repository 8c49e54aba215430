import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hashDocument, hashEmail, hashesEqual } from './hashing.ts'

test('an address is hashed with SHA-256 in lower case, with a prefix', () => {
  expect(hashEmail('user@example.com')).toBe('sha256:b4c9a289323b21a01c3e940f150eb9b8c542587f1abfd8f0e1cc1ffc5e475514')
})

test('case and surrounding blanks do not change the hash of an address', () => {
  expect(hashEmail('  User@Example.COM\n')).toBe(hashEmail('user@example.com'))
})

test('a document is hashed with the pepper, in its normalised form', () => {
  const expected = createHmac('sha256', 'pepper').update('52998224725').digest('hex')
  expect(hashDocument('529.982.247-25', 'pepper')).toBe(expected)
  expect(hashDocument('52998224725', Buffer.from('pepper'))).toBe(expected)
  expect(expected).toMatch(/^[0-9a-f]{64}$/)
})

test('another pepper gives another hash', () => {
  expect(hashDocument('52998224725', 'a')).not.toBe(hashDocument('52998224725', 'b'))
})

test('an empty pepper is refused', () => {
  expect(() => hashDocument('52998224725', '')).toThrow('needs a pepper')
})

test('hashes are equal exactly when their texts are', () => {
  fc.assert(fc.property(fc.string(), fc.string(), (a, b) => hashesEqual(a, b) === (a === b) && hashesEqual(a, a)))
})
