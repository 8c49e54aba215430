import { expect, test } from 'vitest'
import { hashPassword, NOBODYS_PASSWORD, passwordMatches } from './password.ts'

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

test('two people with one password have two hashes, and neither shows it', async () => {
  const [one, two] = await Promise.all([hashPassword(PASSWORD), hashPassword(PASSWORD)])
  expect(one).not.toBe(two)
  expect(one).toMatch(/^scrypt\$[A-Za-z0-9+/=]{24}\$[A-Za-z0-9+/=]{44}$/)
  expect(one).not.toContain(PASSWORD)
})

test('the same salt gives the same hash', async () => {
  const salt = Buffer.alloc(16, 7)
  expect(await hashPassword(PASSWORD, salt)).toBe(await hashPassword(PASSWORD, salt))
})

test("nobody's password is matched by nobody, and takes the same work as anybody's", async () => {
  for (const guess of ['', 'admin', '\0'.repeat(32)]) expect(await passwordMatches(guess, NOBODYS_PASSWORD)).toBe(false)
  const shape = (stored: string) => stored.split('$').map(part => part.length)
  expect(shape(NOBODYS_PASSWORD)).toEqual(shape(await hashPassword(PASSWORD)))
})

test('hashing leaves the event loop to others', async () => {
  let turns = 0
  const timer = setInterval(() => turns++, 1)
  await hashPassword(PASSWORD)
  clearInterval(timer)
  expect(turns).toBeGreaterThan(0)
})
