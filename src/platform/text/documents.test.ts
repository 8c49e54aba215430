import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isValidCnpj, isValidCpf, isValidCpfCnpj, normaliseDocument } from './documents.ts'

const CPFS = ['529.982.247-25', '52998224725', '111.444.777-35', '123.456.789-09', '123456789-09', ' 12345678909 ']
const CNPJS = ['11.222.333/0001-81', '11222333000181', '44.038.188/0001-32', '44038188/0001-32', '00.000.000/0001-91']
const ALPHANUMERIC_CNPJS = ['12ABC34501DE35', '12.ABC.345/01DE-35', '12abc34501de35']

test.each(CPFS)('%j is a CPF and no CNPJ', document => {
  expect(isValidCpf(document)).toBe(true)
  expect(isValidCnpj(document)).toBe(false)
  expect(isValidCpfCnpj(document)).toBe(true)
})

test.each([...CNPJS, ...ALPHANUMERIC_CNPJS])('%j is a CNPJ and no CPF', document => {
  expect(isValidCnpj(document)).toBe(true)
  expect(isValidCpf(document)).toBe(false)
  expect(isValidCpfCnpj(document)).toBe(true)
})

test.each([
  ['a wrong check digit', '529.982.247-26'],
  ['a wrong check digit', '11.222.333/0001-82'],
  ['a wrong check digit', '12ABC34501DE36'],
  ['letters as check digits', '12ABC34501DEAB'],
  ['one digit too few', '5299822472'],
  ['one digit too many', '529982247250'],
  ['punctuation in the wrong place', '52.9982.247-25'],
  ['foreign punctuation', '529,982,247-25'],
  ['doubled punctuation', '529..982.247-25'],
  ['blanks inside', '529 982 247 25'],
  ['digits of another alphabet', '٥٢٩٩٨٢٢٤٧٢٥'],
  ['something around it', 'CPF 529.982.247-25'],
  ['nothing', ''],
])('refuses %s: %j', (_, document) => {
  expect(isValidCpfCnpj(document)).toBe(false)
})

test('refuses repeated digits, though their check digits are right', () => {
  for (let digit = 0; digit <= 9; digit++) {
    expect(isValidCpfCnpj(String(digit).repeat(11))).toBe(false)
    expect(isValidCpfCnpj(String(digit).repeat(14))).toBe(false)
  }
})

describe('for any body', () => {
  const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 9, maxLength: 9 })
  const body = fc.string({
    unit: fc.constantFrom(...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ'),
    minLength: 12,
    maxLength: 12,
  })
  const hundred = Array.from({ length: 100 }, (_, index) => String(index).padStart(2, '0'))

  test('exactly one pair of check digits makes a CPF', () => {
    fc.assert(
      fc.property(
        digits.filter(text => new Set(text).size > 1),
        text => hundred.filter(pair => isValidCpf(text + pair)).length === 1,
      ),
    )
  })

  test('exactly one pair of check digits makes a CNPJ, with letters or without', () => {
    fc.assert(
      fc.property(
        body.filter(text => new Set(text).size > 1),
        text => hundred.filter(pair => isValidCnpj(text + pair)).length === 1,
      ),
    )
  })
})

test('normalising removes the punctuation and makes letters upper case', () => {
  expect(normaliseDocument(' 12.abc.345/01de-35 ')).toBe('12ABC34501DE35')
  expect(normaliseDocument('529.982.247-25')).toBe('52998224725')
})
