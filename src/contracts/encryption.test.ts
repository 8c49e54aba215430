import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type CipherPlace, decrypt, encrypt, keyRing } from './encryption.ts'

const OLD = '00'.repeat(32)
const NEW = 'ab'.repeat(32)
const ring = keyRing([NEW])
const CPF = '52998224725'
const KEY_ID_BYTES = 4
const HERE = { companyId: '01890000-0000-7000-8000-000000000001', column: 'recipients.cpf_cnpj' } as const

test('what goes in comes out, whatever it is', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), text => decrypt(encrypt(text, ring, HERE), ring, HERE) === text),
  )
})

test('the box shows nothing of the text, and never looks the same twice', () => {
  const [one, two] = [encrypt(CPF, ring, HERE), encrypt(CPF, ring, HERE)]
  expect(one.includes(CPF)).toBe(false)
  expect(one.equals(two)).toBe(false)
  expect(one.subarray(0, KEY_ID_BYTES)).toEqual(two.subarray(0, KEY_ID_BYTES))
})

describe('rotation', () => {
  const before = encrypt(CPF, keyRing([OLD]), HERE)

  test('the first key encrypts, the others still decrypt', () => {
    const rotated = keyRing([NEW, OLD])
    expect(decrypt(before, rotated, HERE)).toBe(CPF)
    expect(decrypt(encrypt(CPF, rotated, HERE), keyRing([NEW]), HERE)).toBe(CPF)
  })

  test('a key that is no longer in the list is named by its id, and by the setting to mend', () => {
    const id = before.subarray(0, KEY_ID_BYTES).toString('hex')
    expect(() => decrypt(before, keyRing([NEW]), HERE)).toThrow(`ENCRYPTION_KEY: no key with id ${id}`)
  })

  test('the complaint names neither the key nor the text', () => {
    expect.assertions(2)
    try {
      decrypt(before, keyRing([NEW]), HERE)
    } catch (error) {
      expect(String(error)).not.toContain(CPF)
      expect(String(error)).not.toContain(NEW)
    }
  })

  test('capital hexadecimal digits are the same key', () => {
    expect(decrypt(encrypt(CPF, keyRing([NEW.toUpperCase()]), HERE), ring, HERE)).toBe(CPF)
  })
})

describe('tampering', () => {
  const box = encrypt(CPF, ring, HERE)

  test('one flipped bit anywhere is noticed', () => {
    for (let bit = 0; bit < box.length * 8; bit++) {
      const changed = Buffer.from(box)
      changed[bit >> 3]! ^= 1 << (bit & 7)
      expect(() => decrypt(changed, ring, HERE), `bit ${bit}`).toThrow()
    }
  })

  test('a box that was cut short or made longer is noticed', () => {
    for (let length = 0; length < box.length; length++)
      expect(() => decrypt(box.subarray(0, length), ring, HERE), `${length} bytes`).toThrow()
    expect(() => decrypt(Buffer.concat([box, Buffer.from([0])]), ring, HERE)).toThrow()
  })

  test('two boxes cannot be sewn together', () => {
    const other = encrypt('12345678909', ring, HERE)
    expect(() => decrypt(Buffer.concat([box.subarray(0, 16), other.subarray(16)]), ring, HERE)).toThrow()
  })
})

describe('a value belongs to its company and its column', () => {
  const box = encrypt(CPF, ring, HERE)

  test.each<[string, Partial<CipherPlace>]>([
    ['another company', { companyId: '01890000-0000-7000-8000-000000000002' }],
    ['another column', { column: 'webhook_endpoints.secret' }],
  ])('and cannot be read in %s', (_where, change) => {
    expect(() => decrypt(box, ring, { ...HERE, ...change })).toThrow()
  })

  test('the spelling of the company does not matter', () => {
    const companyId = 'ABCDEF00-0000-7000-8000-000000000001'
    const sealed = encrypt(CPF, ring, { ...HERE, companyId })
    expect(decrypt(sealed, ring, { ...HERE, companyId: companyId.toLowerCase() })).toBe(CPF)
  })

  test('one written before this was so can still be read', () => {
    // Made with key NEW by the version that knew no associated data.
    const before = Buffer.from('mi2y4gcHBwcHBwcHBwcHB0vm80w/MpoD/sGoUZVXcrWYluRNNHXTwX3U4g==', 'base64')
    expect(decrypt(before, ring, HERE)).toBe(CPF)
  })
})
