import { expect, test } from 'vitest'
import { shortId } from './short-id.ts'

test('ids of the same moment are told apart', () => {
  const [one, other] = ['01a1f06d-fced-7669-bdaf-7af61c6ee9fc', '01a1f06d-fd01-761e-8bbe-6f26ab4fe8a7'].map(shortId)
  expect([one, other]).toEqual(['…1c6ee9fc', '…ab4fe8a7'])
})

test('a hash keeps its first digits, by which it is searched, and what is short is whole', () => {
  expect(shortId(`sha256:${'0123456789abcdef'.repeat(4)}`)).toBe('01234567…')
  expect(shortId('acme.com')).toBe('acme.com')
})
