import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type CipherContext, decrypt, encrypt, keyRing } from './encryption.ts'

const OLD = '00'.repeat(32)
const NEW = 'ab'.repeat(32)
const ring = keyRing([NEW])
const CPF = '52998224725'
const KEY_ID_BYTES = 4
const CONTEXT = { companyId: '01890000-0000-7000-8000-000000000001', column: 'recipients.cpf_cnpj' } as const

test('decrypting what was encrypted gives the same text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), text => decrypt(encrypt(text, ring, CONTEXT), ring, CONTEXT) === text),
  )
})

test('the ciphertext does not contain the text and differs each time', () => {
  const [one, two] = [encrypt(CPF, ring, CONTEXT), encrypt(CPF, ring, CONTEXT)]
  expect(one.includes(CPF)).toBe(false)
  expect(one.equals(two)).toBe(false)
  expect(one.subarray(0, KEY_ID_BYTES)).toEqual(two.subarray(0, KEY_ID_BYTES))
})

describe('rotation', () => {
  const before = encrypt(CPF, keyRing([OLD]), CONTEXT)

  test('the first key encrypts, the others still decrypt', () => {
    const rotated = keyRing([NEW, OLD])
    expect(decrypt(before, rotated, CONTEXT)).toBe(CPF)
    expect(decrypt(encrypt(CPF, rotated, CONTEXT), keyRing([NEW]), CONTEXT)).toBe(CPF)
  })

  test('a key that is no longer in the list is named by its id, and the error names the setting', () => {
    const id = before.subarray(0, KEY_ID_BYTES).toString('hex')
    expect(() => decrypt(before, keyRing([NEW]), CONTEXT)).toThrow(`ENCRYPTION_KEY: no key with id ${id}`)
  })

  test('the error contains neither the key nor the text', () => {
    expect.assertions(2)
    try {
      decrypt(before, keyRing([NEW]), CONTEXT)
    } catch (error) {
      expect(String(error)).not.toContain(CPF)
      expect(String(error)).not.toContain(NEW)
    }
  })

  test('capital hexadecimal digits are the same key', () => {
    expect(decrypt(encrypt(CPF, keyRing([NEW.toUpperCase()]), CONTEXT), ring, CONTEXT)).toBe(CPF)
  })
})

describe('tampering', () => {
  const box = encrypt(CPF, ring, CONTEXT)

  test('one flipped bit anywhere is noticed', () => {
    for (let bit = 0; bit < box.length * 8; bit++) {
      const changed = Buffer.from(box)
      changed[bit >> 3]! ^= 1 << (bit & 7)
      expect(() => decrypt(changed, ring, CONTEXT), `bit ${bit}`).toThrow()
    }
  })

  test('a truncated or extended ciphertext is noticed', () => {
    for (let length = 0; length < box.length; length++)
      expect(() => decrypt(box.subarray(0, length), ring, CONTEXT), `${length} bytes`).toThrow()
    expect(() => decrypt(Buffer.concat([box, Buffer.from([0])]), ring, CONTEXT)).toThrow()
  })

  test('parts of two ciphertexts cannot be combined', () => {
    const other = encrypt('12345678909', ring, CONTEXT)
    expect(() => decrypt(Buffer.concat([box.subarray(0, 16), other.subarray(16)]), ring, CONTEXT)).toThrow()
  })
})

describe('a value belongs to its company and its column', () => {
  const box = encrypt(CPF, ring, CONTEXT)

  test.each<[string, Partial<CipherContext>]>([
    ['another company', { companyId: '01890000-0000-7000-8000-000000000002' }],
    ['another column', { column: 'webhook_endpoints.secret' }],
  ])('and cannot be read in %s', (_where, change) => {
    expect(() => decrypt(box, ring, { ...CONTEXT, ...change })).toThrow()
  })

  test('the case of the company id does not matter', () => {
    const companyId = 'ABCDEF00-0000-7000-8000-000000000001'
    const encrypted = encrypt(CPF, ring, { ...CONTEXT, companyId })
    expect(decrypt(encrypted, ring, { ...CONTEXT, companyId: companyId.toLowerCase() })).toBe(CPF)
  })
})
