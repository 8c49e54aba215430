import { afterAll, beforeAll, expect, test } from 'vitest'
import { hashPassword, putAdministrator } from '../../src/admins/administrators.ts'
import { startTestGateway, type TestGateway, until } from '../support/gateway.ts'

const PASSWORD = 'correct horse battery'
let gateway: TestGateway

beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api', env: { TRUST_PROXY: 'true' } })
  for (const name of ['ana', 'bob', 'eva']) await putAdministrator(gateway.db.pool, name, await hashPassword(PASSWORD))
})
afterAll(() => gateway.stop())

const login = (address: string, name: string, password = PASSWORD) =>
  gateway.call(null, 'GET', '/admin/inbox', undefined, {
    authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
    'x-forwarded-for': address,
  })
const warnings = () =>
  gateway
    .logs()
    .split('\n')
    .filter(line => line.includes('Failed login of an administrator'))
    .map(line => JSON.parse(line))

test('whoever guesses has to wait longer and longer, and is told how long', async () => {
  const answers = []
  for (let n = 0; n < 8; n++) answers.push(await login('198.51.100.1', 'ana', `guess ${n}`))
  expect(answers.map(answer => answer.status)).toEqual([401, 401, 401, 401, 401, 401, 429, 429])
  expect(answers.at(-1)!.body.code).toBe('TOO_MANY_LOGINS')
  expect(Number(answers.at(-1)!.headers.get('retry-after'))).toBe(1)
  // Not even the right password: it would tell the guesser.
  expect((await login('198.51.100.1', 'ana')).status).toBe(429)
})

test('the right password gets through from elsewhere, at once, while hundreds of guesses wait', async () => {
  const guesses = Promise.all(Array.from({ length: 300 }, (_, n) => login(`203.0.113.${n % 10}`, 'ana', `guess ${n}`)))
  expect((await login('192.0.2.1', 'ana')).status).toBe(200)
  for (const { status } of await guesses) expect([401, 429]).toContain(status)
})

test('an administrator who has logged in goes on, although others guess from the same address', async () => {
  expect((await login('192.0.2.50', 'bob')).status).toBe(200)
  for (let n = 0; n < 25; n++) await login('192.0.2.50', 'bob', `guess ${n}`)
  expect((await login('192.0.2.50', 'eva')).status).toBe(200)
  expect((await login('192.0.2.50', 'bob')).status).toBe(200)
  expect((await login('192.0.2.50', 'bob', 'wrong')).status).toBe(429)
})

test('an address that the guesser wrote into X-Forwarded-For is not believed', async () => {
  for (let n = 1; n <= 6; n++) await login(`203.0.113.${100 + n}, 198.51.100.99`, 'ana', `guess ${n}`)
  expect((await login('203.0.113.200, 198.51.100.99', 'ana', 'another')).status).toBe(429)
})

test('a whole network of IPv6 counts as one', async () => {
  for (let n = 1; n <= 6; n++) await login(`2001:db8:1:2::${n}`, 'ana', `guess ${n}`)
  expect((await login('2001:db8:1:2:ffff::1', 'ana', 'another')).status).toBe(429)
  expect((await login('2001:db8:1:3::1', 'ana')).status).toBe(200)
})

test('a failed login is a warning with name and address, both harmless, and without the password', async () => {
  await login('192.0.2.77', `x\u001b[31m${'y'.repeat(200)}`, 'a secret guess')
  const [warning] = warnings().filter(line => line.address === '192.0.2.77')
  expect(warning).toMatchObject({ level: 'warn', address: '192.0.2.77' })
  expect(warning.administrator).toMatch(/^x\?\[31my{10,60}$/)
  expect(gateway.logs()).not.toContain('a secret guess')
  expect(warnings().length).toBeGreaterThan(10)
})

test('refused logins are counted', async () => {
  const text = await until(
    async () => (await gateway.call(null, 'GET', '/metrics')).text,
    metrics => /admin_logins_refused_total\{reason="throttled"\} \d+/.test(metrics),
  )
  expect(text).toMatch(/admin_logins_refused_total\{reason="password"\} \d+/)
})
