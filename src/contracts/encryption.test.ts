import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decrypt, encrypt, keyRing } from './encryption.ts'

const OLD = '00'.repeat(32)
const NEW = 'ab'.repeat(32)
const ring = keyRing([NEW])
const CPF = '52998224725'
const KEY_ID_BYTES = 4

test('what goes in comes out, whatever it is', () => {
  fc.assert(fc.property(fc.string({ unit: 'grapheme' }), text => decrypt(encrypt(text, ring), ring) === text))
})

test('the box shows nothing of the text, and never looks the same twice', () => {
  const [one, two] = [encrypt(CPF, ring), encrypt(CPF, ring)]
  expect(one.includes(CPF)).toBe(false)
  expect(one.equals(two)).toBe(false)
  expect(one.subarray(0, KEY_ID_BYTES)).toEqual(two.subarray(0, KEY_ID_BYTES))
})

describe('rotation', () => {
  const before = encrypt(CPF, keyRing([OLD]))

  test('the first key encrypts, the others still decrypt', () => {
    const rotated = keyRing([NEW, OLD])
    expect(decrypt(before, rotated)).toBe(CPF)
    expect(decrypt(encrypt(CPF, rotated), keyRing([NEW]))).toBe(CPF)
  })

  test('a key that is no longer in the list is named by its id, and by the setting to mend', () => {
    const id = before.subarray(0, KEY_ID_BYTES).toString('hex')
    expect(() => decrypt(before, keyRing([NEW]))).toThrow(`ENCRYPTION_KEY: no key with id ${id}`)
  })

  test('the complaint names neither the key nor the text', () => {
    expect.assertions(2)
    try {
      decrypt(before, keyRing([NEW]))
    } catch (error) {
      expect(String(error)).not.toContain(CPF)
      expect(String(error)).not.toContain(NEW)
    }
  })

  test('capital hexadecimal digits are the same key', () => {
    expect(decrypt(encrypt(CPF, keyRing([NEW.toUpperCase()])), ring)).toBe(CPF)
  })
})

describe('tampering', () => {
  const box = encrypt(CPF, ring)

  test('one flipped bit anywhere is noticed', () => {
    for (let bit = 0; bit < box.length * 8; bit++) {
      const changed = Buffer.from(box)
      changed[bit >> 3]! ^= 1 << (bit & 7)
      expect(() => decrypt(changed, ring), `bit ${bit}`).toThrow()
    }
  })

  test('a box that was cut short or made longer is noticed', () => {
    for (let length = 0; length < box.length; length++)
      expect(() => decrypt(box.subarray(0, length), ring), `${length} bytes`).toThrow()
    expect(() => decrypt(Buffer.concat([box, Buffer.from([0])]), ring)).toThrow()
  })

  test('two boxes cannot be sewn together', () => {
    const other = encrypt('12345678909', ring)
    expect(() => decrypt(Buffer.concat([box.subarray(0, 16), other.subarray(16)]), ring)).toThrow()
  })
})
