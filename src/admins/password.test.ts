import { expect, test } from 'vitest'
import { DUMMY_PASSWORD_HASH, hashPassword, passwordMatches } from './administrators.ts'

const PASSWORD = 'correct horse battery staple'

test('a password matches its own hash, and nothing near it does', async () => {
  const stored = await hashPassword(PASSWORD)
  expect(await passwordMatches(PASSWORD, stored)).toBe(true)
  for (const wrong of ['', PASSWORD.toUpperCase(), `${PASSWORD} `, PASSWORD.slice(1)])
    expect(await passwordMatches(wrong, stored), JSON.stringify(wrong)).toBe(false)
})

test('letters outside ASCII count', async () => {
  const stored = await hashPassword('pão de açúcar')
  expect(await passwordMatches('pão de açúcar', stored)).toBe(true)
  expect(await passwordMatches('pao de acucar', stored)).toBe(false)
})

test('the same password hashed twice gives two hashes, and neither contains it', async () => {
  const [one, two] = await Promise.all([hashPassword(PASSWORD), hashPassword(PASSWORD)])
  expect(one).not.toBe(two)
  expect(one).toMatch(/^scrypt\$[A-Za-z0-9+/=]{24}\$[A-Za-z0-9+/=]{44}$/)
  expect(one).not.toContain(PASSWORD)
})

test('the same salt gives the same hash', async () => {
  const salt = Buffer.alloc(16, 7)
  expect(await hashPassword(PASSWORD, salt)).toBe(await hashPassword(PASSWORD, salt))
})

test('no password matches the dummy hash, which takes the same work as a real one', async () => {
  for (const guess of ['', 'admin', '\0'.repeat(32)])
    expect(await passwordMatches(guess, DUMMY_PASSWORD_HASH)).toBe(false)
  const shape = (stored: string) => stored.split('$').map(part => part.length)
  expect(shape(DUMMY_PASSWORD_HASH)).toEqual(shape(await hashPassword(PASSWORD)))
})

test('hashing does not block the event loop', async () => {
  let turns = 0
  const timer = setInterval(() => turns++, 1)
  await hashPassword(PASSWORD)
  clearInterval(timer)
  expect(turns).toBeGreaterThan(0)
})
