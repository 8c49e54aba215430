import { describe, expect, test } from 'vitest'
import { hashEmail } from '../platform/text/hashing.ts'
import { readHeader, readLine } from './csv.ts'

const HASH = hashEmail('maria@example.com')

describe('a header', () => {
  test('names its columns in any order and case, after a byte order mark, with commas or semicolons', () => {
    expect(readHeader('\ufeffReason, EMAIL ,expires_at').separator).toBe(',')
    expect(readHeader('"email";"reason"').separator).toBe(';')
  })

  test.each([
    '',
    'reason',
    'email',
    'email,email_hash,reason',
    'email,reason,reason',
    'maria@example.com,MANUAL',
    'email,reason,expires',
  ])('%j is refused', line => {
    expect(() => readHeader(line)).toThrow('its header')
  })
})

describe('a line', () => {
  const shape = readHeader('email,reason,expires_at,company')
  const read = (line: string) => readLine(line, shape)

  test('gives the hash of its address, and when it ends', () => {
    expect(read('Maria@Example.com,manual,2027-01-31,demo')).toEqual({
      emailHash: HASH,
      reason: 'MANUAL',
      expiresAt: '2027-01-31T00:00:00.000Z',
      company: 'demo',
    })
    expect(read('maria@example.com,COMPLAINT,never,').expiresAt).toBeNull()
    expect(read('maria@example.com,HARD_BOUNCE,,').expiresAt).toBeUndefined()
  })

  test('may quote its fields', () => {
    expect(read('"maria@example.com" , "MANUAL","","Loja ""A"", Ltda"').company).toBe('Loja "A", Ltda')
    expect(() => read('"maria@example.com"x,MANUAL,,')).toThrow('quotation mark')
    expect(() => read('"maria@example.com,MANUAL,,')).toThrow()
  })

  test('may give a hash instead', () => {
    const hashed = readHeader('email_hash;reason')
    expect(readLine(`${HASH.slice(7).toUpperCase()};MANUAL`, hashed).emailHash).toBe(HASH)
    expect(() => readLine('sha256:12;MANUAL', hashed)).toThrow('email_hash')
  })

  test.each([
    ['too few fields', 'maria@example.com,MANUAL'],
    ['no address', 'maria,MANUAL,,'],
    ['another reason', 'maria@example.com,SOFT_BOUNCE,,'],
    ['another time', 'maria@example.com,MANUAL,soon,'],
    ['too much', `maria@example.com,MANUAL,,${'x'.repeat(5000)}`],
  ])('with %s is refused, and the refusal does not repeat it', (_what, line) => {
    expect(() => read(line)).toThrow(/^(?!.*maria)/)
  })
})
