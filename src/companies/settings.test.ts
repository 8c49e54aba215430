import { expect, test } from 'vitest'
import { companyChangeSchema, newCompanySchema, parseDefaultFrom, parseFromDomain } from './settings.ts'

test('a sender domain is kept in lower-case ASCII, and anything else is refused', () => {
  expect(parseFromDomain(' Café.Example ')).toEqual({ ok: true, value: 'xn--caf-dma.example' })
  for (const wrong of [
    '',
    'localhost',
    'a b.example',
    'a@b.example',
    'a.example/b',
    'a.example\\b',
    'a.example?b=c',
    'a.example#',
  ])
    expect(parseFromDomain(wrong).ok, wrong).toBe(false)
})

test('a default sender has to be of one of the domains', () => {
  expect(parseDefaultFrom('Acme <hi@acme.example>', ['acme.example'])).toEqual({
    ok: true,
    value: 'Acme <hi@acme.example>',
  })
  expect(parseDefaultFrom('hi@other.example', ['acme.example'])).toMatchObject({
    code: 'FROM_NOT_ALLOWED',
    ok: false,
    problem: 'other.example is not one of its sender domains',
  })
})

test('settings beyond their bounds are refused, each with its field', () => {
  const refused = newCompanySchema.safeParse({
    name: 'a\nb',
    weight: 0,
    ratePerSecond: 0,
    fromDomains: ['x'],
    retryPolicy: 'never',
  })
  expect(refused.error?.issues.map(issue => issue.path[0])).toEqual([
    'name',
    'weight',
    'ratePerSecond',
    'retryPolicy',
    'fromDomains',
  ])
  expect(companyChangeSchema.safeParse({ isDefault: false }).success).toBe(false)
  expect(companyChangeSchema.parse({ ratePerSecond: null, fromDomains: ['A.example', 'a.example'] })).toEqual({
    ratePerSecond: null,
    fromDomains: ['a.example'],
  })
})
