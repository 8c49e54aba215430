import { expect, test } from 'vitest'
import { makeSessionToken, parseSessionToken, sessionSecretMatches } from './sessions.ts'

test('a token is read back, and only its own secret matches', () => {
  const [one, other] = [makeSessionToken(), makeSessionToken()]
  expect(parseSessionToken(one.token)).toEqual({ id: one.id, secret: one.secret })
  expect(sessionSecretMatches(one.secret, one.secretHash)).toBe(true)
  expect(sessionSecretMatches(other.secret, one.secretHash)).toBe(false)
  expect(Buffer.from(one.secret, 'base64url')).toHaveLength(32)
  expect(one.secretHash.toString('base64url')).not.toBe(one.secret)
})

test.each([
  '',
  '.',
  'let me in',
  makeSessionToken().id,
  `${makeSessionToken().token}x`,
  makeSessionToken().token.toUpperCase(),
])('%j is no token', text => {
  expect(parseSessionToken(text)).toBeNull()
})
