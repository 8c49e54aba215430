import { createHmac } from 'node:crypto'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cancelEmail } from '../../../src/outbox/schedule.ts'
import { sendBodySchema } from '../../../src/outbox/send-body.ts'
import { acceptEmails } from '../../../src/pipeline/accept/accept.ts'
import { makeAccept } from '../../../src/pipeline/accept/compose.ts'
import { HtmlChecker } from '../../../src/platform/html/check.ts'
import { hashEmail } from '../../../src/platform/text/hashing.ts'
import { loadConfig } from '../../../src/settings/config.ts'
import {
  type Answer,
  call,
  startTestGateway,
  type TestCompany,
  type TestGateway,
  until,
} from '../../support/gateway.ts'
import { keptOf, mail, NOTHING_KEPT, rows, send, sendOk } from '../../support/mail.ts'
import { type SecondGateway, SHARED_SECRETS, startSecondGateway } from '../../support/second-gateway.ts'

let gateway: TestGateway
let second: SecondGateway

beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api', env: SHARED_SECRETS })
  second = await startSecondGateway(gateway.databaseUrl)
})
afterAll(async () => {
  await second.stop()
  await gateway.stop()
})

const many = <T>(count: number, make: (index: number) => T) => Array.from({ length: count }, (_, index) => make(index))
const keyed = (company: { apiKey: string }, body: unknown, key = 'key-1', url = gateway.url) =>
  call(url, company, 'POST', '/v1/email/send', body, { 'idempotency-key': key })
const batch = (company: TestCompany, bodies: unknown[], headers: Record<string, string> = {}) =>
  gateway.call(company, 'POST', '/v1/email/batch', bodies, { 'idempotency-key': 'key-1', ...headers })
const isReplay = (answer: Answer) => answer.headers.get('idempotent-replayed') === 'true'
const emailsOf = async (company: TestCompany) => (await keptOf(gateway, company.companyId)).email_outbox
const suppress = (address: string) =>
  rows(gateway, `insert into suppression_list (email_hash, reason) values ($1, 'MANUAL')`, [hashEmail(address)])

/** One fresh 202, replays of it, and nothing else but 409. */
function expectOneAndReplays(answers: Answer[]): void {
  const fresh = answers.filter(answer => answer.status === 202 && !isReplay(answer))
  expect(fresh).toHaveLength(1)
  for (const answer of answers) {
    if (answer === fresh[0]) continue
    if (answer.status === 202) expect(answer.text).toBe(fresh[0]!.text)
    else expect([answer.status, answer.body.code]).toEqual([409, 'IDEMPOTENCY_IN_PROGRESS'])
  }
}

describe('fifty requests at once with one key', () => {
  test('are one e-mail', async () => {
    const company = await gateway.company()
    expectOneAndReplays(await Promise.all(many(50, () => keyed(company, mail()))))
    expect(await keptOf(gateway, company.companyId)).toEqual({
      ...NOTHING_KEPT,
      email_outbox: 1,
      email_ready: 1,
      email_events: 1,
      email_content: 1,
      email_recipients: 1,
      idempotency_keys: 1,
    })
  })

  test('are one e-mail also over two gateways', async () => {
    for (let round = 0; round < 10; round++) {
      const company = await gateway.company()
      const urls = [gateway.url, second.url]
      const body = mail({ recipient: { externalId: 'c-1' }, attachments: [{ filename: 'a', content: 'AAAA' }] })
      expectOneAndReplays(await Promise.all(many(50, index => keyed(company, body, 'key-1', urls[index % 2]))))
      expect(await keptOf(gateway, company.companyId)).toMatchObject({
        email_outbox: 1,
        email_attachments: 1,
        recipients: 1,
        idempotency_keys: 1,
      })
    }
  })

  test('and fifty bodies are one e-mail, and the other bodies hear that the key is used', async () => {
    const company = await gateway.company()
    const answers = await Promise.all(
      many(50, index => keyed(company, mail({ subject: `${index}` }), 'key-1', index % 2 ? gateway.url : second.url)),
    )
    expect(answers.filter(answer => answer.status === 202)).toHaveLength(1)
    expect(answers.filter(answer => answer.status === 409)).toHaveLength(49)
    expect(await emailsOf(company)).toBe(1)
  })

  test('do not disturb those without, or with another', async () => {
    const company = await gateway.company()
    const answers = await Promise.all(
      many(60, index =>
        index % 3 === 0
          ? keyed(company, mail())
          : index % 3 === 1
            ? send(gateway, company)
            : keyed(company, mail(), `key-${index}`),
      ),
    )
    expectOneAndReplays(answers.filter((_, index) => index % 3 === 0))
    const others = answers.filter((_, index) => index % 3 !== 0)
    expect(others.every(answer => answer.status === 202 && !isReplay(answer))).toBe(true)
    expect(await emailsOf(company)).toBe(41)
  })

  test('that is expired are one e-mail again', async () => {
    const company = await gateway.company()
    await keyed(company, mail())
    await rows(gateway, `update idempotency_keys set expires_at = now() - interval '1 second'`)
    expectOneAndReplays(
      await Promise.all(many(50, index => keyed(company, mail(), 'key-1', index % 2 ? gateway.url : second.url))),
    )
    expect(await emailsOf(company)).toBe(2)
  })
})

describe('the same key again', () => {
  test('answers the same, and says that it is a replay', async () => {
    const company = await gateway.company()
    const first = await keyed(company, mail())
    expect([first.status, isReplay(first)]).toEqual([202, false])
    const again = await keyed(company, mail())
    expect([again.status, isReplay(again), again.text]).toEqual([202, true, first.text])
  })

  test('answers the same from another gateway', async () => {
    const company = await gateway.company()
    const first = await keyed(company, mail())
    const again = await keyed(company, mail(), 'key-1', second.url)
    expect([isReplay(again), again.text]).toEqual([true, first.text])
  })

  test('with another body is refused, and the first stays', async () => {
    const company = await gateway.company()
    const first = await keyed(company, mail())
    for (const change of [{ subject: 'Other' }, { to: 'other@example.com' }, { html: '<p>x</p>' }, { priority: 1 }]) {
      const other = await keyed(company, mail(change))
      expect([other.status, other.body.code]).toEqual([409, 'IDEMPOTENCY_KEY_REUSED'])
      expect(other.headers.get('content-type')).toMatch(/^application\/problem\+json/)
    }
    expect((await keyed(company, mail())).text).toBe(first.text)
    expect(await emailsOf(company)).toBe(1)
  })

  test('is the same body in another key order and other white space', async () => {
    const company = await gateway.company()
    const body = (text: string) => keyed(company, text)
    const first = await body(
      '{"to":"maria@example.com","subject":"S","html":"<p>x</p>","headers":{"X-A":"1","X-B":"2"},"recipient":{"externalId":"1","nome":"M"}}',
    )
    const again = await body(
      '{ "recipient": {"nome":"M",\n"externalId":"1"}, "headers":{"X-B":"2","X-A":"1"}, "html":"\\u003cp>x</p>","subject":"S","to":"maria@example.com" }',
    )
    expect([first.status, again.status, isReplay(again), again.text]).toEqual([202, 202, true, first.text])
  })

  test('is another body when a list has another order', async () => {
    const company = await gateway.company()
    await keyed(company, mail({ tags: ['a', 'b'] }))
    expect((await keyed(company, mail({ tags: ['b', 'a'] }))).status).toBe(409)
  })

  test('is free after 24 hours', async () => {
    const company = await gateway.company()
    const first = await keyed(company, mail())
    const [row] = await rows(
      gateway,
      `select extract(epoch from expires_at - now())::int as seconds from idempotency_keys where company_id = $1`,
      [company.companyId],
    )
    expect(86_400 - row.seconds).toBeLessThan(10)
    await rows(gateway, `update idempotency_keys set expires_at = now() where company_id = $1`, [company.companyId])
    const other = await keyed(company, mail({ subject: 'Other' }))
    expect([other.status, isReplay(other)]).toEqual([202, false])
    expect(other.body.outboxId).not.toBe(first.body.outboxId)
    expect((await keyed(company, mail({ subject: 'Other' }))).body.outboxId).toBe(other.body.outboxId)
  })

  test('belongs to one company', async () => {
    const [own, other] = [await gateway.company(), await gateway.company()]
    const first = await keyed(own, mail())
    const theirs = await keyed(other, mail())
    expect([theirs.status, isReplay(theirs)]).toEqual([202, false])
    expect(theirs.body.outboxId).not.toBe(first.body.outboxId)
    expect((await keyed(other, mail({ subject: 'x' }))).status).toBe(409)
  })

  test('is the same for all API keys of the company', async () => {
    const company = await gateway.company()
    const another = await gateway.key(company.companyId, {})
    const first = await keyed(company, mail())
    expect((await keyed(another, mail())).text).toBe(first.text)
  })

  test('with another key name is another e-mail', async () => {
    const company = await gateway.company()
    const ids = [await keyed(company, mail(), 'a'), await keyed(company, mail(), 'A'), await send(gateway, company)]
    expect(new Set(ids.map(answer => answer.body.outboxId)).size).toBe(3)
  })

  test('replays after the recipient was suppressed', async () => {
    const company = await gateway.company()
    const to = 'later-suppressed@example.com'
    const first = await keyed(company, mail({ to }))
    await suppress(to)
    const again = await keyed(company, mail({ to }))
    expect([again.status, isReplay(again), again.text]).toEqual([202, true, first.text])
    expect((await keyed(company, mail({ to, subject: 'Other' }))).body.code).toBe('IDEMPOTENCY_KEY_REUSED')
    expect((await send(gateway, company, mail({ to }))).status).toBe(403)
  })

  test('replays which cc were left out', async () => {
    const company = await gateway.company()
    const cc = 'suppressed-cc@example.com'
    await suppress(cc)
    const first = await keyed(company, mail({ cc: [cc] }))
    expect(first.body.suppressed).toEqual([hashEmail(cc)])
    await rows(gateway, 'delete from suppression_list')
    expect((await keyed(company, mail({ cc: [cc] }))).text).toBe(first.text)
  })

  test('replays after the e-mail was cancelled', async () => {
    const company = await gateway.company()
    const first = await keyed(company, mail())
    await cancelEmail(gateway.db.pool, first.body.outboxId, company.companyId, 'test')
    expect((await keyed(company, mail())).text).toBe(first.text)
  })

  test('replays a delay, although that would be over', async () => {
    const company = await gateway.company()
    const scheduledAt = new Date(Date.now() + 300).toISOString()
    const first = await keyed(company, mail({ scheduledAt }))
    await new Promise(resolve => setTimeout(resolve, 400))
    expect((await keyed(company, mail({ scheduledAt }))).text).toBe(first.text)
  })
})

describe('a key', () => {
  test.each([
    ['of no characters', ''],
    ['of 257 characters', 'k'.repeat(257)],
    ['with a control character', 'a\tb'],
    ['outside ASCII', 'chave-ção'],
  ])('%s is refused', async (_name, key) => {
    const company = await gateway.company()
    const answer = await keyed(company, mail(), key)
    expect([answer.status, answer.body.code]).toEqual([400, 'INVALID_IDEMPOTENCY_KEY'])
    expect(await keptOf(gateway, company.companyId)).toEqual(NOTHING_KEPT)
    const inBatch = await batch(company, [mail()], { 'idempotency-key': key })
    expect(inBatch.status).toBe(400)
  })

  test.each(['k', 'k'.repeat(256), 'with spaces & "signs"; --', "'; drop table idempotency_keys; --"])(
    '%s is good',
    async key => {
      const company = await gateway.company()
      const first = await keyed(company, mail(), key)
      expect([first.status, (await keyed(company, mail(), key)).text]).toEqual([202, first.text])
    },
  )

  test.each<[string, () => Promise<Record<string, unknown>>]>([
    ['a wrong body', async () => ({ to: 'wrong' })],
    ['wrong HTML', async () => ({ html: '<script>' })],
    ['an unknown recipient', async () => ({ recipient: { recipientId: '0190a0b0-0000-7000-8000-000000000000' } })],
    [
      'a suppressed recipient',
      async () => {
        await suppress('key-stays-free@example.com')
        return { to: 'key-stays-free@example.com' }
      },
    ],
  ])('stays free after a refusal for %s', async (_name, change) => {
    const company = await gateway.company()
    const body = mail(await change())
    const refused = await Promise.all(many(5, () => keyed(company, body)))
    for (const answer of refused) expect([403, 409, 422]).toContain(answer.status)
    expect(await keptOf(gateway, company.companyId)).toEqual(NOTHING_KEPT)
    const answer = await keyed(company, mail())
    expect([answer.status, isReplay(answer)]).toEqual([202, false])
  })

  test('of a test key is another than the same of a live key: the live e-mail is accepted, and each replays its own', async () => {
    const company = await gateway.company()
    const testKey = await gateway.key(company.companyId, { mode: 'test' })
    const tried = await keyed(testKey, mail())
    const real = await keyed(company, mail())
    expect([tried.status, isReplay(tried), real.status, isReplay(real)]).toEqual([202, false, 202, false])
    const [triedAgain, realAgain] = [await keyed(testKey, mail()), await keyed(company, mail())]
    expect([triedAgain.text, isReplay(triedAgain)]).toEqual([tried.text, true])
    expect([realAgain.text, isReplay(realAgain)]).toEqual([real.text, true])
    expect(
      await rows(gateway, 'select outbox_id, test from email_outbox where company_id = $1 order by test desc', [
        company.companyId,
      ]),
    ).toEqual([
      { outbox_id: tried.body.outboxId, test: true },
      { outbox_id: real.body.outboxId, test: false },
    ])
  })

  test('of a test key and of a live key at the same time are two e-mails', async () => {
    const company = await gateway.company()
    const testKey = await gateway.key(company.companyId, { mode: 'test' })
    const answers = await Promise.all(many(20, index => keyed(index % 2 ? testKey : company, mail())))
    expectOneAndReplays(answers.filter((_, index) => index % 2 === 0))
    expectOneAndReplays(answers.filter((_, index) => index % 2 === 1))
    expect(await emailsOf(company)).toBe(2)
  })

  test('is kept without body and without addresses, and itself as a hash that needs the pepper', async () => {
    const company = await gateway.company()
    await keyed(company, mail({ to: 'not-in-the-key@example.com' }), 'order-4711-of-maria')
    const kept = await rows(gateway, 'select k::text from idempotency_keys k where company_id = $1', [
      company.companyId,
    ])
    expect(kept).toHaveLength(1)
    expect(JSON.stringify(kept)).not.toMatch(/not-in-the-key|4711/)
    const scoped = `idempotency live ${company.companyId} order-4711-of-maria`
    const [stored] = await rows(gateway, 'select key from idempotency_keys where company_id = $1', [company.companyId])
    const withPepper = createHmac('sha256', SHARED_SECRETS.HASH_PEPPER).update(scoped).digest('base64url')
    expect(stored).toEqual({ key: withPepper })
  })
})

describe('a crash between the commit and the answer', () => {
  let html: HtmlChecker

  beforeAll(() => {
    html = new HtmlChecker('a key')
  })
  afterAll(() => html.close())

  test('is mended by the next try: the same id', async () => {
    const company = await gateway.company()
    const config = loadConfig({ DATABASE_URL: gateway.databaseUrl, ...SHARED_SECRETS })
    const body = mail({ recipient: { cpfCnpj: '52998224725' } })
    const committed = await acceptEmails(
      {
        caller: {
          keyId: company.keyId,
          companyId: company.companyId,
          test: false,
          fromDomains: [],
          defaultFrom: null,
          retryPolicy: null,
        },
        requestId: 'the-one-without-an-answer',
        members: [{ index: 0, body: sendBodySchema.parse(body) }],
        strict: true,
        idempotency: { key: 'key-1', writtenBody: body },
        refusedBefore: new Map(),
      },
      makeAccept(config, gateway.db, html, () => {}),
    )
    if (committed.kind !== 'answered') throw new Error(committed.kind)
    const answer = await keyed(company, body)
    expect([answer.status, isReplay(answer)]).toEqual([202, true])
    expect(answer.body).toMatchObject({
      outboxId: committed.answer.results[0]!.outboxId,
      requestId: 'the-one-without-an-answer',
      queuedAt: committed.answer.queuedAt,
    })
    expect(await emailsOf(company)).toBe(1)
  })

  test('of the connection, at any moment, leaves one e-mail at most, and the next try names it', async () => {
    const body = JSON.stringify(mail())
    for (let delayMs = 0; delayMs < 20; delayMs++) {
      const company = await gateway.company()
      await hangUp(company.apiKey, body, delayMs)
      const answer = await until(
        () => keyed(company, body),
        ({ status }) => status === 202,
      )
      const kept = await rows(gateway, 'select outbox_id from email_outbox where company_id = $1', [company.companyId])
      expect(kept).toEqual([{ outbox_id: answer.body.outboxId }])
    }
  })

  /** Sends the request and closes the socket some moments later, without waiting for the answer. */
  function hangUp(apiKey: string, body: string, delayMs: number): Promise<void> {
    const { hostname, port } = new URL(gateway.url)
    const head = `POST /v1/email/send HTTP/1.1\r\nhost: x\r\nx-api-key: ${apiKey}\r\nidempotency-key: key-1\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => {
        socket.write(head + body)
        setTimeout(() => {
          socket.destroy()
          resolve()
        }, delayMs)
      })
      socket.on('error', reject)
    })
  }
})

describe('a batch with a key', () => {
  test('replays the whole answer', async () => {
    const company = await gateway.company()
    const bodies = [mail(), mail({ to: 'joao@example.com' })]
    const first = await batch(company, bodies)
    const again = await batch(company, bodies)
    expect([first.status, again.status, isReplay(first), isReplay(again)]).toEqual([202, 202, false, true])
    expect(again.body).toEqual(first.body)
    expect(again.body.data).toHaveLength(2)
    expect(await emailsOf(company)).toBe(2)
  })

  test('replays its errors: wrong bodies, wrong HTML and suppressed recipients', async () => {
    const company = await gateway.company()
    await suppress('batch-suppressed@example.com')
    const bodies = [
      mail({ to: 'wrong' }),
      mail(),
      mail({ html: '<script>' }),
      mail({ to: 'batch-suppressed@example.com' }),
      mail({ recipient: { recipientId: '0190a0b0-0000-7000-8000-000000000000' } }),
      mail({ subject: 'Last' }),
    ]
    const permissive = { 'x-batch-validation': 'permissive' }
    const first = await batch(company, bodies, permissive)
    expect(first.status).toBe(202)
    expect(first.body.data).toHaveLength(2)
    expect(first.body.errors.map((error: { index: number; code: string }) => [error.index, error.code])).toEqual([
      [0, 'INVALID_EMAIL'],
      [2, 'INVALID_TEMPLATE'],
      [3, 'RECIPIENT_SUPPRESSED'],
      [4, 'RECIPIENT_NOT_FOUND'],
    ])
    await rows(gateway, 'delete from suppression_list')
    const again = await batch(company, bodies, permissive)
    expect([again.status, isReplay(again), again.body]).toEqual([202, true, first.body])
    expect(await emailsOf(company)).toBe(2)
  })

  test('and another body is refused', async () => {
    const company = await gateway.company()
    await batch(company, [mail()])
    const other = await batch(company, [mail(), mail()])
    expect([other.status, other.body.code]).toEqual([409, 'IDEMPOTENCY_KEY_REUSED'])
    expect((await keyed(company, mail())).status).toBe(409)
    expect(await emailsOf(company)).toBe(1)
  })

  test('twenty times at once is one batch', async () => {
    const company = await gateway.company()
    const bodies = many(10, index => mail({ subject: `${index}` }))
    expectOneAndReplays(await Promise.all(many(20, () => batch(company, bodies))))
    expect(await emailsOf(company)).toBe(10)
  })

  test('that is refused leaves the key free', async () => {
    const company = await gateway.company()
    expect((await batch(company, [mail(), mail({ to: 'wrong' })])).status).toBe(422)
    expect(await keptOf(gateway, company.companyId)).toEqual(NOTHING_KEPT)
    expect((await batch(company, [mail()])).status).toBe(202)
  })

  test('beside singles with other keys keeps every e-mail once', async () => {
    const company = await gateway.company()
    await Promise.all([
      batch(
        company,
        many(30, () => mail()),
      ),
      ...many(30, index => keyed(company, mail(), `single-${index}`)),
      sendOk(gateway, company),
    ])
    expect(await emailsOf(company)).toBe(61)
  })

  test('and the same people in opposite order, in two gateways at once, do not deadlock', async () => {
    const company = await gateway.company()
    const bodies = many(100, index => mail({ recipient: { externalId: `person-${index}` } }))
    const answers = await Promise.all(
      many(20, index =>
        call(
          index % 2 ? gateway.url : second.url,
          company,
          'POST',
          '/v1/email/batch',
          index % 4 < 2 ? bodies : bodies.toReversed(),
          { 'idempotency-key': `key-${index}` },
        ),
      ),
    )
    expect(answers.map(answer => answer.status)).toEqual(many(20, () => 202))
    expect(await keptOf(gateway, company.companyId)).toMatchObject({ email_outbox: 2_000, recipients: 100 })
  })
})
