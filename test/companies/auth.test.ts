import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hashPassword, putAdministrator } from '../../src/admins/administrators.ts'
import { revokeKey } from '../../src/companies/keys.ts'
import { uuidv7 } from '../../src/platform/text/uuid.ts'
import { putCaptured } from '../../src/providers/capture/inbox.ts'
import type { Scope } from '../../src/web/access.ts'
import { type Answer, call, startTestGateway, type TestCompany, type TestGateway } from '../support/gateway.ts'
import { type Json, keptOf, mail, read, rows, send, sendOk, sleep } from '../support/mail.ts'
import { type SecondGateway, SHARED_SECRETS, startSecondGateway } from '../support/second-gateway.ts'

const MB = 1024 * 1024
const NOBODY = '0190a0b0-0000-7000-8000-000000000000'

let gateway: TestGateway
let second: SecondGateway
let company: TestCompany

beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api', env: SHARED_SECRETS })
  second = await startSecondGateway(gateway.databaseUrl)
  company = await gateway.company()
})
afterAll(async () => {
  await second.stop()
  await gateway.stop()
})

const many = <T>(count: number, make: (index: number) => T) => Array.from({ length: count }, (_, index) => make(index))

type Route = [method: string, path: (outboxId: string) => string, needs: Scope, body?: unknown]

const ROUTES: Route[] = [
  ['POST', () => '/v1/email/send', 'send', mail()],
  ['POST', () => '/v1/email/batch', 'send', [mail()]],
  ['GET', id => `/v1/email/${id}`, 'read'],
  ['GET', id => `/v1/email/${id}/explain`, 'read'],
  ['GET', () => '/v1/emails', 'read'],
  ['POST', id => `/v1/email/${id}/cancel`, 'send'],
  ['PATCH', id => `/v1/email/${id}`, 'send', { delay: 1_000 }],
]
const named = ROUTES.map(([method, path, needs, body]) => ({
  name: `${method} ${path(':id')}`,
  method,
  path,
  needs,
  body,
}))

function expectUnauthenticated(answer: Answer): void {
  expect([answer.status, answer.body.code]).toEqual([401, 'UNAUTHENTICATED'])
  expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/)
  expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/)
}

describe('a request is refused', () => {
  test.each(named)('without a key: $name', async ({ method, path, body }) => {
    expectUnauthenticated(await gateway.call(null, method, path(NOBODY), body))
  })

  test.each<[string, (key: string) => Record<string, string>]>([
    ['an empty key', () => ({ 'x-api-key': '' })],
    ['words as key', () => ({ 'x-api-key': 'let me in' })],
    ['the id of a key without secret', key => ({ 'x-api-key': key.slice(0, 24) })],
    ['an id that nobody has', key => ({ 'x-api-key': key.replace(/_[0-9a-z]{16}_/, `_${'0'.repeat(16)}_`) })],
    ['a wrong secret', key => ({ 'x-api-key': `${key.slice(0, -40)}${'x'.repeat(40)}` })],
    ['a secret that is wrong at its end', key => ({ 'x-api-key': key.slice(0, -1) + (key.endsWith('a') ? 'b' : 'a') })],
    ['a secret cut short', key => ({ 'x-api-key': key.slice(0, -1) })],
    ['a secret and more', key => ({ 'x-api-key': `${key}a` })],
    ['a live key in the coat of a test key', key => ({ 'x-api-key': key.replace('sk_live_', 'sk_test_') })],
    ['another prefix', key => ({ 'x-api-key': key.replace('sk_live_', 'pk_live_') })],
    ['the id in capitals', key => ({ 'x-api-key': key.replace(/_[0-9a-z]{16}_/, id => id.toUpperCase()) })],
    ['a key that is quoted', key => ({ 'x-api-key': `"${key}"` })],
    ['a bearer of words', () => ({ authorization: 'Bearer let me in' })],
    ['a bearer of nothing', () => ({ authorization: 'Bearer ' })],
    ['a key without Bearer', key => ({ authorization: key })],
    ['a key as Basic', key => ({ authorization: `Basic ${Buffer.from(`${key}:`).toString('base64')}` })],
    ['a very long key', () => ({ 'x-api-key': `sk_live_${'0'.repeat(8_000)}` })],
  ])('with %s', async (_name, headers) => {
    const own = await gateway.company()
    // The right one first: nothing that is remembered may help the wrong one.
    await sendOk(gateway, own)
    expectUnauthenticated(await gateway.call(null, 'POST', '/v1/email/send', mail(), headers(own.apiKey)))
    expect((await keptOf(gateway, own.companyId)).email_outbox).toBe(1)
    const digits = own.apiKey.slice(-40, -5)
    expect(gateway.logs()).not.toContain(digits)
  })

  test('with a test key in the coat of a live key', async () => {
    const { apiKey } = await gateway.key(company.companyId, { mode: 'test' })
    expectUnauthenticated(await send(gateway, { apiKey: apiKey.replace('sk_test_', 'sk_live_') }))
    await sendOk(gateway, { apiKey })
  })

  test('the same way whether the id or the secret is wrong', async () => {
    const { apiKey } = await gateway.company()
    const answers = await Promise.all(
      [apiKey.replace(/_[0-9a-z]{16}_/, `_${'1'.repeat(16)}_`), `${apiKey.slice(0, -40)}${'x'.repeat(40)}`].map(wrong =>
        send(gateway, { apiKey: wrong }, mail(), { 'x-request-id': 'same' }),
      ),
    )
    expect(answers[0]!.text).toBe(answers[1]!.text)
  })
})

describe('a key is taken', () => {
  test.each<[string, (key: string) => Record<string, string>]>([
    ['X-API-Key', key => ({ 'x-api-key': key })],
    ['Authorization: Bearer', key => ({ authorization: `Bearer ${key}` })],
    ['authorization: bearer', key => ({ authorization: `bearer ${key}` })],
  ])('from %s', async (_name, headers) => {
    const answer = await gateway.call(null, 'POST', '/v1/email/send', mail(), headers(company.apiKey))
    expect(answer.status).toBe(202)
  })

  test('and kept as a keyed hash only', async () => {
    const own = await gateway.company()
    const [row] = await rows(gateway, 'select k::text as text from api_keys k where key_id = $1', [own.keyId])
    expect(row.text).not.toContain(own.apiKey.slice(-40))
    expect(row.text).not.toContain(Buffer.from(own.apiKey.slice(-40)).toString('hex'))
  })
})

describe('a revoked key', () => {
  test('is refused within a second by every gateway, while it is used all the time', async () => {
    const own = await gateway.company()
    let revokedAt = Number.POSITIVE_INFINITY
    const lastAccepted = [0, 0]
    const useConstantly = async (url: string, index: number) => {
      for (;;) {
        const startedAt = performance.now()
        const { status, body } = await call(url, own, 'POST', '/v1/email/send', mail())
        if (status === 202) lastAccepted[index] = startedAt
        else return body.code
        if (performance.now() > revokedAt + 5_000) return 'never refused'
      }
    }
    const users = [useConstantly(gateway.url, 0), useConstantly(gateway.url, 0), useConstantly(second.url, 1)]
    await sleep(1_500)
    await revokeKey(gateway.db.pool, own.keyId)
    revokedAt = performance.now()
    expect(await Promise.all(users)).toEqual(many(3, () => 'UNAUTHENTICATED'))
    for (const at of lastAccepted) expect(at - revokedAt).toBeLessThan(1_000)
    await sleep(1_000)
    expectUnauthenticated(await send(gateway, own))
  })

  test('that nobody used for a while is refused at once', async () => {
    const own = await gateway.company()
    await sendOk(gateway, own)
    await sleep(1_000)
    await revokeKey(gateway.db.pool, own.keyId)
    expectUnauthenticated(await send(gateway, own))
  })

  test('leaves the other keys of the company alone', async () => {
    const own = await gateway.company()
    const other = await gateway.key(own.companyId, {})
    await revokeKey(gateway.db.pool, own.keyId)
    await sendOk(gateway, other)
  })
})

describe('scopes', () => {
  const KEYS: Scope[][] = [['send'], ['read'], ['manage'], ['send', 'read']]
  const cases = named.flatMap(route =>
    KEYS.map(scopes => ({ ...route, scopes, allowed: scopes.includes(route.needs) })),
  )

  test.each(cases)('$name with $scopes: $allowed', async ({ method, path, body, scopes, allowed, needs }) => {
    const own = await gateway.company()
    const outboxId = await sendOk(gateway, own)
    const answer = await gateway.call(await gateway.key(own.companyId, { scopes }), method, path(outboxId), body)
    if (allowed) expect(answer.status).toBeLessThan(300)
    else {
      expect([answer.status, answer.body.code]).toEqual([403, 'INSUFFICIENT_SCOPE'])
      expect(answer.body.message).toContain(needs)
      expect((await keptOf(gateway, own.companyId)).email_outbox).toBe(1)
      expect((await read(gateway, own, outboxId)).status).toBe('PENDING')
    }
  })
})

describe("another company's e-mail", () => {
  test.each(named.filter(route => route.path('') !== route.path('x')))(
    'is not there: $name',
    async ({ method, path, body }) => {
      const [own, other] = [await gateway.company(), await gateway.company()]
      const outboxId = await sendOk(gateway, own, { delay: 3_600_000 })
      const before = await read(gateway, own, outboxId)
      const headers = { 'x-request-id': 'same' }
      const theirs = await gateway.call(other, method, path(outboxId), body, headers)
      const never = await gateway.call(other, method, path(NOBODY), body, headers)
      expect([theirs.status, theirs.body.code]).toEqual([404, 'NOT_FOUND'])
      expect(theirs.text).toBe(never.text)
      expect(await read(gateway, own, outboxId)).toEqual(before)
    },
  )

  test('is not in the list, whatever is asked for', async () => {
    const [own, other] = [await gateway.company(), await gateway.company()]
    await sendOk(gateway, own, { to: 'only@own.example', tags: ['own'] })
    const otherId = await sendOk(gateway, other)
    for (const query of ['', '?recipient=only@own.example', '?tag=own', '?status=PENDING']) {
      const { body } = await gateway.call(other, 'GET', `/v1/emails${query}`)
      const ids = body.data.map((email: Json) => email.outboxId)
      expect(ids).toEqual(query === '' || query.includes('status') ? [otherId] : [])
    }
  })
})

describe('a stranger with a body of 20 MB', () => {
  const head = (length: string) =>
    `POST /v1/email/send HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${length}\r\n\r\n`

  test.each([
    ['of a known length', `content-length: ${20 * MB}`],
    ['in chunks without an end', 'transfer-encoding: chunked'],
  ])('%s is refused before it has been sent', async (_name, length) => {
    const { answer } = await pour(head(length), 0)
    expect(answer).toMatch(/^HTTP\/1\.1 401 /)
  })

  test('is not listened to any longer: the connection ends', async () => {
    const { answer, taken, ended } = await pour(head(`content-length: ${20 * MB}`), 20 * MB)
    expect(answer).toMatch(/^HTTP\/1\.1 401 /)
    expect([ended, taken < 20 * MB]).toEqual([true, true])
  })

  /** Writes the head, waits for the answer, then goes on with the body until all is taken or the other side ends. */
  function pour(text: string, bytes: number): Promise<{ answer: string; taken: number; ended: boolean }> {
    const { hostname, port } = new URL(gateway.url)
    const part = Buffer.alloc(256 * 1024, 0x20)
    return new Promise(resolve => {
      const socket = connect(Number(port), hostname)
      let [answer, taken, ended, pouring] = ['', 0, false, false]
      const finish = () => {
        clearTimeout(patience)
        socket.destroy()
        resolve({ answer, taken, ended })
      }
      const patience = setTimeout(finish, 5_000)
      const next = () => {
        if (taken >= bytes) return setTimeout(finish, 200)
        return socket.write(part, error => {
          if (error) return
          taken += part.length
          setTimeout(next, 2)
        })
      }
      socket.write(text)
      socket.on('data', chunk => {
        answer += chunk
        if (pouring) return
        pouring = true
        next()
      })
      socket.on('end', () => {
        ended = true
      })
      socket.on('error', () => {
        ended = true
      })
      socket.on('close', finish)
    })
  }
})

describe('the rate limit', () => {
  const limitOf = (answer: Answer) =>
    ['limit', 'remaining', 'reset'].map(name => answer.headers.get(`ratelimit-${name}`))

  test('lets a second of mail through, then answers 429 and says when to come back', async () => {
    const own = await gateway.company({ ratePerSecond: 5 })
    const answers = await Promise.all(many(12, () => send(gateway, own, mail(), { 'idempotency-key': uuidv7() })))
    const accepted = answers.filter(answer => answer.status === 202)
    const limited = answers.filter(answer => answer.status === 429)
    expect(accepted.length).toBeGreaterThanOrEqual(5)
    expect(accepted.length).toBeLessThanOrEqual(7)
    expect(accepted.length + limited.length).toBe(12)
    for (const answer of limited) {
      expect(answer.body.code).toBe('RATE_LIMITED')
      expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/)
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
      expect(limitOf(answer)).toEqual(['5', '0', expect.stringMatching(/^\d+$/)])
    }
    for (const answer of accepted)
      expect(limitOf(answer)).toEqual(['5', expect.stringMatching(/^[0-4]$/), expect.any(String)])
    expect(await keptOf(gateway, own.companyId)).toMatchObject({
      email_outbox: accepted.length,
      idempotency_keys: accepted.length,
    })
  })

  test('gives tokens back: after Retry-After it goes on', async () => {
    const own = await gateway.company({ ratePerSecond: 2 })
    const answers = await Promise.all(many(6, () => send(gateway, own)))
    const limited = answers.find(answer => answer.status === 429)!
    await sleep(Number(limited.headers.get('retry-after')) * 1_000)
    expect((await send(gateway, own)).status).toBe(202)
  })

  test('may be less than one a second', async () => {
    const own = await gateway.company({ ratePerSecond: 0.5 })
    expect((await send(gateway, own)).status).toBe(202)
    const limited = await send(gateway, own)
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '2'])
  })

  test('counts the members of a batch', async () => {
    const own = await gateway.company({ ratePerSecond: 20 })
    const batch = (count: number) =>
      gateway.call(
        own,
        'POST',
        '/v1/email/batch',
        many(count, () => mail()),
      )
    const first = await batch(19)
    expect([first.status, first.headers.get('ratelimit-remaining')]).toEqual([202, '1'])
    const limited = await batch(15)
    expect([limited.status, limited.body.code]).toEqual([429, 'RATE_LIMITED'])
    expect((await keptOf(gateway, own.companyId)).email_outbox).toBe(19)
  })

  test('lets a batch through that is larger than itself, and makes what follows wait for it', async () => {
    const own = await gateway.company({ ratePerSecond: 10 })
    const big = await gateway.call(
      own,
      'POST',
      '/v1/email/batch',
      many(30, () => mail()),
    )
    expect(big.status).toBe(202)
    const limited = await send(gateway, own)
    expect(limited.status).toBe(429)
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThanOrEqual(2)
  })

  test('is shared by all gateways', async () => {
    const own = await gateway.company({ ratePerSecond: 10 })
    const startedAt = performance.now()
    const urls = [gateway.url, second.url]
    const answers = await Promise.all(many(60, index => call(urls[index % 2]!, own, 'POST', '/v1/email/send', mail())))
    const seconds = (performance.now() - startedAt) / 1_000
    const accepted = answers.filter(answer => answer.status === 202).length
    expect(accepted).toBeGreaterThanOrEqual(10)
    expect(accepted).toBeLessThanOrEqual(Math.ceil(10 + 10 * seconds))
  })

  test('holds over several seconds', async () => {
    const own = await gateway.company({ ratePerSecond: 20 })
    const startedAt = performance.now()
    let offered = 0
    let accepted = 0
    while (performance.now() - startedAt < 3_000) {
      offered++
      if ((await send(gateway, own)).status === 202) accepted++
    }
    const seconds = (performance.now() - startedAt) / 1_000
    // A busy machine may offer less than the limit.
    expect(accepted).toBeGreaterThanOrEqual(Math.min(offered, Math.floor(20 * seconds * 0.8)))
    expect(accepted).toBeLessThanOrEqual(Math.ceil(20 + 20 * seconds))
  })

  test('of one company does not touch another, which has none and no headers', async () => {
    const [own, other] = [await gateway.company({ ratePerSecond: 1 }), await gateway.company()]
    const answers = await Promise.all(many(20, index => send(gateway, index % 2 ? own : other)))
    const others = answers.filter((_, index) => index % 2 === 0)
    expect(others.every(answer => answer.status === 202)).toBe(true)
    expect(limitOf(others[0]!)).toEqual([null, null, null])
  })

  test('does not count reading', async () => {
    const own = await gateway.company({ ratePerSecond: 1 })
    const answers = await Promise.all(many(5, () => gateway.call(own, 'GET', '/v1/emails')))
    expect(answers.every(answer => answer.status === 200)).toBe(true)
  })
})

test('when a key was used last is written when the gateway stops', async () => {
  const [own, unused] = [await gateway.company(), await gateway.company()]
  const third = await startSecondGateway(gateway.databaseUrl)
  const refused = `${unused.apiKey.slice(0, -40)}${'x'.repeat(40)}`
  await call(third.url, own, 'POST', '/v1/email/send', mail())
  await call(third.url, { apiKey: refused }, 'POST', '/v1/email/send', mail())
  await third.stop()
  const lastUsed = async ({ keyId }: TestCompany) =>
    (await rows(gateway, 'select last_used_at from api_keys where key_id = $1', [keyId]))[0].last_used_at
  expect(Date.now() - (await lastUsed(own)).getTime()).toBeLessThan(10_000)
  expect(await lastUsed(unused)).toBeNull()
})

describe('administrators', () => {
  const PASSWORD = 'correct: horse, ação'
  const basic = (name: string, password: string) => ({
    authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
  })
  const inbox = (headers: Record<string, string>) => gateway.call(null, 'GET', '/admin/inbox', undefined, headers)

  beforeAll(async () => putAdministrator(gateway.db.pool, 'ana', await hashPassword(PASSWORD)))

  test('with name and password come in, again and again', async () => {
    for (let time = 0; time < 3; time++) expect((await inbox(basic('ana', PASSWORD))).status).toBe(200)
  })

  test.each<[string, Record<string, string>]>([
    ['nothing', {}],
    ['a wrong password', basic('ana', 'wrong')],
    ['a password cut at the colon', basic('ana', 'correct')],
    ['no password', basic('ana', '')],
    ['a name that nobody has', basic('bob', PASSWORD)],
    ['the name in capitals', basic('ANA', PASSWORD)],
    ['no name', basic('', PASSWORD)],
    ['NUL in the name', basic('ana\0', PASSWORD)],
    ['words', { authorization: 'Basic !!!' }],
    ['a bearer', { authorization: 'Bearer x' }],
    ['a very long name', basic('a'.repeat(700), 'x')],
  ])('with %s stay outside', async (_name, headers) => {
    expect((await inbox(basic('ana', PASSWORD))).status).toBe(200)
    const answer = await inbox(headers)
    expect([answer.status, answer.body?.code]).toEqual([401, 'ADMIN_UNAUTHENTICATED'])
    expect(answer.headers.get('www-authenticate')).toMatch(/^Basic realm=/)
    expect(gateway.logs()).not.toContain(PASSWORD)
  })

  test('are not companies, and companies are not administrators', async () => {
    expectUnauthenticated(await gateway.call(null, 'GET', '/v1/emails', undefined, basic('ana', PASSWORD)))
    expect((await inbox({ 'x-api-key': company.apiKey })).status).toBe(401)
    expect((await inbox({ authorization: `Bearer ${company.apiKey}` })).status).toBe(401)
  })

  test('guessed many at once are not let in, and the API goes on', async () => {
    const guesses = Promise.all(many(40, index => inbox(basic('ana', `guess ${index}`))))
    const startedAt = performance.now()
    await sendOk(gateway, company)
    expect(performance.now() - startedAt).toBeLessThan(1_000)
    for (const { status } of await guesses) expect([401, 429]).toContain(status)
  })

  describe('see the inbox', () => {
    const admin = basic('ana', PASSWORD)
    const EVIL = `"'><script>alert(1)</script></iframe><img src=x onerror=alert(2)>&amp;&lt;`
    const message = {
      from: `${EVIL} <a@evil.example>`,
      to: ['maria@example.com'],
      cc: [EVIL],
      bcc: [],
      replyTo: [],
      subject: EVIL,
      html: `<p>Hello</p>${EVIL}<form action="https://evil.example">`,
      text: EVIL,
      headers: { [`X-${EVIL}`]: EVIL },
      attachments: [{ filename: EVIL, contentType: 'text/html', contentId: null, bytes: 5 }],
    }
    const messageId = `capture-${uuidv7()}`
    const get = (path: string, accept?: string) =>
      gateway.call(null, 'GET', path, undefined, { ...admin, ...(accept && { accept }) })

    beforeAll(() =>
      putCaptured(gateway.db.pool, [
        { messageId, attemptId: uuidv7(), outboxId: uuidv7(), companyId: company.companyId, message },
      ]),
    )

    test.each(['*/*', 'application/json', 'text/plain'])('as JSON for Accept: %s', async accept => {
      const answer = await get('/admin/inbox', accept)
      expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
      expect(answer.headers.get('vary')).toMatch(/accept/i)
      const { html: _, text, headers, ...listed } = message
      expect(answer.body.data[0]).toMatchObject({ messageId, companyId: company.companyId, message: listed })
      const one = await get(`/admin/inbox/${messageId}`, accept)
      expect(one.headers.get('vary')).toMatch(/accept/i)
      expect(one.body.message).toEqual(message)
    })

    test('with a limit between 1 and 200', async () => {
      expect((await get('/admin/inbox?limit=1')).body.data).toHaveLength(1)
      for (const limit of ['0', '201', '-1', 'x', '1.5', '']) {
        const answer = await get(`/admin/inbox?limit=${limit}`)
        expect([limit, answer.status, answer.body.code]).toEqual([limit, 422, 'INVALID_PAYLOAD'])
      }
    })

    test.each(['nothing', 'x'.repeat(90), '%00', "'; drop table capture_inbox; --"])(
      'and 404 for a message %s',
      async id => {
        const answer = await get(`/admin/inbox/${id.startsWith('%') ? id : encodeURIComponent(id)}`)
        expect([answer.status, answer.body.code]).toEqual([404, 'NOT_FOUND'])
      },
    )
  })
})
