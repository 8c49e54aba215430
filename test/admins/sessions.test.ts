import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { changeRole, hashPassword, putAdministrator, removeAdministrator } from '../../src/admins/administrators.ts'
import { makeSignInLink } from '../../src/admins/sessions.ts'
import type { AdminRole } from '../../src/web/access.ts'
import { type Answer, call, startTestGateway, type TestGateway, until } from '../support/gateway.ts'
import { rows } from '../support/mail.ts'
import { type SecondGateway, SHARED_SECRETS, startSecondGateway } from '../support/second-gateway.ts'

const PASSWORD = 'correct horse battery'
const JSON_TYPE = { 'content-type': 'application/json' }

let gateway: TestGateway
let second: SecondGateway
let hash: string

beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api', env: { ...SHARED_SECRETS, TRUST_PROXY: 'true' } })
  second = await startSecondGateway(gateway.databaseUrl)
  hash = await hashPassword(PASSWORD)
  await administrator('ana')
  await administrator('vera', 'viewer')
})
afterAll(async () => {
  await second.stop()
  await gateway.stop()
})

const administrator = (name: string, role?: AdminRole) => putAdministrator(gateway.db.pool, name, hash, { role })
const signIn = (name: string, headers: Record<string, string> = {}, password = PASSWORD) =>
  gateway.call(null, 'POST', '/admin/session', { name, password }, headers)
const cookieOf = (answer: Answer) => ({ cookie: answer.headers.get('set-cookie')!.split(';')[0]! })
const signedIn = async (name: string) => cookieOf(await signIn(name))
const session = (headers: Record<string, string>, url = gateway.url) =>
  call(url, null, 'GET', '/admin/session', undefined, headers)
const isOpen = async (headers: Record<string, string>) => (await session(headers)).status === 200
const change = (method: string, path: string, headers: Record<string, string>) =>
  gateway.call(null, method, path, undefined, { ...JSON_TYPE, ...headers })

describe('signing in', () => {
  test('sets a cookie that scripts and other sites cannot use, and whose secret is not stored', async () => {
    const answer = await signIn('ana', { 'user-agent': 'Firefox of maria@example.com' })
    expect([answer.status, answer.text]).toEqual([204, ''])
    const [pair, ...attributes] = answer.headers.get('set-cookie')!.split('; ')
    expect(pair).toMatch(/^email_gateway_session=[0-9a-f-]{36}\.[\w-]{43}$/)
    expect(attributes).toEqual(['Path=/admin', 'Max-Age=604800', 'HttpOnly', 'SameSite=Strict'])
    const [, id, secret] = /=(.*)\.(.*)$/.exec(pair!)!
    const [row] = await rows(
      gateway,
      'select s::text as text, user_agent from admin_sessions s where session_id = $1',
      [id],
    )
    expect(row.text).not.toContain(secret)
    expect(row.text).not.toContain(Buffer.from(secret!, 'base64url').toString('hex'))
    expect(row.user_agent).toBe('Firefox of m***@e***.com')
    const shown = await session(cookieOf(answer))
    expect(shown.body).toEqual({
      name: 'ana',
      role: 'administrator',
      signedInAt: expect.any(String),
      expiresAt: expect.any(String),
    })
    expect(Date.parse(shown.body.expiresAt) - Date.parse(shown.body.signedInAt)).toBe(7 * 86_400_000)
  })

  test('with a wrong password opens no dialog of the browser and is limited as HTTP Basic is', async () => {
    const answers = []
    for (let n = 0; n < 7; n++)
      answers.push(await signIn('nobody', { 'x-requested-with': 'email-gateway-admin' }, 'no'))
    expect(answers.map(answer => answer.status)).toEqual([401, 401, 401, 401, 401, 401, 429])
    expect(answers[0]!.headers.get('www-authenticate')).toBeNull()
    expect(answers[0]!.headers.get('set-cookie')).toBeNull()
    expect(answers[6]!.headers.get('retry-after')).toBe('1')
    const basic = { authorization: `Basic ${btoa('nobody:no')}` }
    expect((await gateway.call(null, 'GET', '/admin/inbox', undefined, basic)).status).toBe(429)
    expect(gateway.logs()).toContain('Failed login of an administrator')
    const refused = `select performed_by, subject_id from audit_log where action = 'SIGN_IN_REFUSED'`
    expect(await rows(gateway, refused)).toEqual([{ performed_by: 'network 127.0.0.1', subject_id: 'nobody' }])
  })

  test.each<[string, Record<string, string>, number]>([
    ['another site', { 'sec-fetch-site': 'cross-site' }, 403],
    ['another origin', { origin: 'https://evil.example' }, 403],
    ['a form', { 'content-type': 'text/plain' }, 415],
  ])('from %s is refused', async (_name, headers, status) => {
    const answer = await signIn('ana', headers)
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([status, null])
  })

  test('over https gives a cookie for https only', async () => {
    const answer = await signIn('ana', { 'x-forwarded-proto': 'https' })
    expect(answer.headers.get('set-cookie')).toMatch(/; Secure$/)
  })
})

describe('a sign-in link', () => {
  const signInBy = (token: string) => gateway.call(null, 'POST', '/admin/session/link', { token })

  test('signs in once, is stored as a hash, and is audited', async () => {
    const token = (await makeSignInLink(gateway.db.pool, 'vera', 'cli:test'))!
    const [stored] = await rows(gateway, 'select l::text as text from admin_sign_in_links l')
    expect(stored.text).not.toContain(Buffer.from(token.slice(37), 'base64url').toString('hex'))
    expect((await signInBy(`${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`)).status).toBe(401)
    const answers = await Promise.all([signInBy(token), signInBy(token), signInBy(token)])
    expect(answers.map(answer => answer.status).sort()).toEqual([204, 401, 401])
    const headers = cookieOf(answers.find(answer => answer.status === 204)!)
    expect((await session(headers)).body).toMatchObject({ name: 'vera', role: 'viewer' })
    const refused = answers.find(answer => answer.status === 401)!
    expect([refused.body.code, refused.headers.get('www-authenticate')]).toEqual(['SIGN_IN_LINK_INVALID', null])
    const log = await rows(
      gateway,
      `select performed_by, action from audit_log where subject_id = 'vera' order by id desc limit 2`,
    )
    expect(log).toEqual([
      { performed_by: 'vera', action: 'SIGNED_IN' },
      { performed_by: 'cli:test', action: 'SIGN_IN_LINK_MADE' },
    ])
  })

  test.each<[string, () => Promise<unknown>]>([
    [
      'after an hour',
      () => gateway.db.pool.query(`update admin_sign_in_links set expires_at = now() - interval '1 second'`),
    ],
    ['after a new password', () => administrator('vera', 'viewer')],
  ])('signs nobody in %s', async (_name, act) => {
    const token = (await makeSignInLink(gateway.db.pool, 'vera', 'cli:test'))!
    await act()
    expect((await signInBy(token)).status).toBe(401)
  })

  test('is not made for somebody who does not exist', async () => {
    expect(await makeSignInLink(gateway.db.pool, 'nobody', 'cli:test')).toBeNull()
  })
})

describe('a session', () => {
  test.each<[string, (cookie: string) => string]>([
    ['without its last character', cookie => cookie.slice(0, -1)],
    ['with another secret', cookie => `${cookie.slice(0, -43)}${'A'.repeat(43)}`],
    ['with another id', cookie => cookie.replace(/=[0-9a-f]{8}/, '=00000000')],
    ['of words', () => 'email_gateway_session=let me in'],
  ])('%s is none, and the answer opens no dialog', async (_name, changed) => {
    const { cookie } = await signedIn('ana')
    expect(await isOpen({ cookie })).toBe(true)
    const answer = await session({ cookie: changed(cookie) })
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, null])
  })

  test('is one of every gateway, and ends in all of them within seconds after the sign-out', async () => {
    const headers = await signedIn('ana')
    expect((await session(headers, second.url)).status).toBe(200)
    const out = await change('DELETE', '/admin/session', headers)
    expect([out.status, out.headers.get('set-cookie')]).toEqual([204, expect.stringContaining('Max-Age=0')])
    expect(await isOpen(headers)).toBe(false)
    await until(
      async () => (await session(headers, second.url)).status,
      status => status === 401,
      5_000,
    )
  })

  test('works beside a right password only if it is one: without a session there is nobody to show', async () => {
    const basic = { authorization: `Basic ${btoa(`ana:${PASSWORD}`)}` }
    expect((await session(basic)).status).toBe(401)
    expect((await gateway.call(null, 'GET', '/admin/inbox', undefined, basic)).status).toBe(200)
  })

  test.each<[string, string]>([
    ['not used for eight hours', `last_seen_at = now() - interval '481 minutes'`],
    ['seven days old', `expires_at = now() - interval '1 second'`],
  ])('that was %s has ended', async (_name, past) => {
    const headers = await signedIn('ana')
    await gateway.db.pool.query(`update admin_sessions set ${past} where session_id = $1`, [idOf(headers)])
    expect(await isOpen(headers)).toBe(false)
  })

  test('that is used records it once a minute', async () => {
    const headers = await signedIn('ana')
    const seen = async () =>
      (await rows(gateway, 'select last_seen_at from admin_sessions where session_id = $1', [idOf(headers)]))[0]
        .last_seen_at
    await gateway.db.pool.query(`update admin_sessions set last_seen_at = now() - interval '2 minutes'`)
    const before = await seen()
    expect(await isOpen(headers)).toBe(true)
    const first = await seen()
    expect(first > before).toBe(true)
    expect(await isOpen(headers)).toBe(true)
    expect(await seen()).toEqual(first)
  })

  test.each<[string, () => Promise<unknown>]>([
    ['is removed', () => removeAdministrator(gateway.db.pool, 'eva')],
    ['gets a new password', () => administrator('eva')],
    ['gets another role', () => changeRole(gateway.db.pool, 'eva', 'viewer', 'test')],
  ])('ends when its administrator %s', async (_name, act) => {
    await administrator('eva', 'support')
    const headers = await signedIn('eva')
    await act()
    expect(await isOpen(headers)).toBe(false)
  })
})

describe('the list of sessions', () => {
  const list = async (headers: Record<string, string>, query = '') =>
    (await gateway.call(null, 'GET', `/admin/sessions${query}`, undefined, headers)).body.data as {
      sessionId: string
      name: string
      current: boolean
    }[]

  test('has the own ones; another one can be ended, and the one in use is marked', async () => {
    const [headers, other] = [await signedIn('vera'), await signedIn('vera')]
    const mine = await list(headers)
    expect(mine.map(one => one.name)).toEqual(mine.map(() => 'vera'))
    expect(mine.filter(one => one.current).map(one => one.sessionId)).toEqual([idOf(headers)])
    expect((await change('DELETE', `/admin/sessions/${idOf(other)}`, headers)).body).toEqual({ ended: 1 })
    expect([await isOpen(other), await isOpen(headers)]).toEqual([false, true])
  })

  test('of everybody is for administrators, who may end any', async () => {
    const [viewer, admin] = [await signedIn('vera'), await signedIn('ana')]
    expect((await gateway.call(null, 'GET', '/admin/sessions?of=everybody', undefined, viewer)).status).toBe(403)
    expect((await change('DELETE', `/admin/sessions/${idOf(admin)}`, viewer)).status).toBe(404)
    expect((await change('DELETE', '/admin/sessions?administrator=ana', viewer)).status).toBe(403)
    expect(new Set((await list(admin, '?of=everybody')).map(one => one.name))).toEqual(new Set(['ana', 'vera']))
    expect((await change('DELETE', '/admin/sessions?administrator=vera', admin)).body.ended).toBeGreaterThan(0)
    expect([await isOpen(viewer), await isOpen(admin)]).toEqual([false, true])
  })

  test('is bounded: the oldest of very many sessions has ended', async () => {
    await administrator('bot')
    const first = await signedIn('bot')
    await gateway.db.pool.query(
      `insert into admin_sessions (session_id, secret_hash, administrator, signed_in_at, expires_at, address, user_agent)
       select gen_random_uuid(), sha256('x'), 'bot', now() + interval '1 second', now() + interval '1 day', '', ''
       from generate_series(1, 60)`,
    )
    await signedIn('bot')
    expect((await rows(gateway, `select from admin_sessions where administrator = 'bot'`)).length).toBe(50)
    expect(await isOpen(first)).toBe(false)
  })
})

test('signing in and out, ending sessions and changing roles are in the audit log', async () => {
  const headers = await signedIn('ana')
  await change('DELETE', '/admin/session', headers)
  await changeRole(gateway.db.pool, 'vera', 'support', 'cli:test')
  const log = await rows(
    gateway,
    `select performed_by, action, subject_id, before, after from audit_log where subject_type = 'administrator' order by id desc limit 3`,
  )
  expect(log).toEqual([
    {
      performed_by: 'cli:test',
      action: 'ROLE_CHANGED',
      subject_id: 'vera',
      before: { role: 'viewer' },
      after: { role: 'support' },
    },
    { performed_by: 'ana', action: 'SIGNED_OUT', subject_id: 'ana', before: null, after: {} },
    {
      performed_by: 'ana',
      action: 'SIGNED_IN',
      subject_id: 'ana',
      before: null,
      after: { by: 'password', address: '127.0.0.1' },
    },
  ])
})

function idOf({ cookie }: { cookie: string }): string {
  return /=([0-9a-f-]{36})\./.exec(cookie)![1]!
}
