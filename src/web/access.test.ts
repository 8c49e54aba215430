import { expect, test } from 'vitest'
import { neededRole, roleSuffices } from '../web/access.ts'

test('reading needs any role, changing needs support, and a route may ask for more or less', () => {
  expect(neededRole('GET', {})).toBe('viewer')
  expect(neededRole('HEAD', {})).toBe('viewer')
  expect(neededRole('POST', {})).toBe('support')
  expect(neededRole('DELETE', { role: 'administrator' })).toBe('administrator')
  expect(neededRole('POST', { role: 'viewer' })).toBe('viewer')
  expect(neededRole('GET', { role: 'administrator' })).toBe('administrator')
})

test('an answer that cannot be masked is for support, also when the route says viewer', () => {
  expect(neededRole('GET', { clear: true })).toBe('support')
  expect(neededRole('POST', { role: 'viewer', clear: true })).toBe('support')
  expect(neededRole('POST', { role: 'administrator', clear: true })).toBe('administrator')
})

test('each role may do what the ones before it may', () => {
  expect(roleSuffices('administrator', 'viewer')).toBe(true)
  expect(roleSuffices('support', 'support')).toBe(true)
  expect(roleSuffices('support', 'administrator')).toBe(false)
  expect(roleSuffices('viewer', 'support')).toBe(false)
})
