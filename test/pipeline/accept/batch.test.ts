import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { REOPENED_FORMATTING, WORST_ACCEPTED } from '../../../src/platform/html/rules.corpus.ts'
import { hashEmail } from '../../../src/platform/text/hashing.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../../support/gateway.ts'
import { type Json, keptOf, mail, NOTHING_KEPT, read, rows } from '../../support/mail.ts'

const SUPPRESSED = 'suppressed@in-the-clear.example'
const NOBODY = '0190a0b0-0000-7000-8000-000000000000'

let gateway: TestGateway
let company: TestCompany

beforeAll(async () => {
  gateway = await startTestGateway()
  await rows(gateway, `insert into suppression_list (email_hash, reason) values ($1, 'COMPLAINT')`, [
    hashEmail(SUPPRESSED),
  ])
})
afterAll(() => gateway.stop())

const many = <T>(count: number, make: (index: number) => T) => Array.from({ length: count }, (_, index) => make(index))
const numbered = (count: number) => many(count, index => mail({ subject: `Number ${index}` }))

async function sendBatch(bodies: unknown, mode?: 'strict' | 'permissive') {
  company = await gateway.company()
  return gateway.call(company, 'POST', '/v1/email/batch', bodies, mode ? { 'x-batch-validation': mode } : {})
}
const kept = () => keptOf(gateway, company.companyId)
const subjectsOf = (answers: Json[]) =>
  Promise.all(answers.map(async one => (await read(gateway, company, one.outboxId)).subject))

describe('a batch', () => {
  test('answers one by one, in the order of the request', async () => {
    const answer = await sendBatch(numbered(25))
    expect(answer.status).toBe(202)
    expect(Object.keys(answer.body)).toEqual(['data'])
    for (const one of answer.body.data) {
      expect(one).toEqual({
        outboxId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        jobId: one.outboxId,
        requestId: answer.headers.get('x-request-id'),
        status: 'QUEUED',
        queuedAt: expect.stringMatching(/Z$/),
      })
    }
    expect(await subjectsOf(answer.body.data)).toEqual(many(25, index => `Number ${index}`))
  })

  test('of one is a batch', async () => {
    expect((await sendBatch([mail()])).body.data).toHaveLength(1)
  })

  test('of 100 is sent, all of it, each once', async () => {
    const answer = await sendBatch(
      many(100, index => mail({ to: `r${index}@example.com`, subject: `Number ${index}` })),
    )
    expect(answer.status).toBe(202)
    const ids = answer.body.data.map((one: Json) => one.outboxId)
    expect(new Set(ids).size).toBe(100)
    const sent = await until(
      () =>
        rows(gateway, `select outbox_id, status from email_outbox where company_id = $1 order by 1`, [
          company.companyId,
        ]),
      all => all.every(one => one.status === 'SENT'),
    )
    expect(sent.map(one => one.outbox_id)).toEqual([...ids].sort())
    const captured = await rows(gateway, 'select message from capture_inbox where company_id = $1', [company.companyId])
    expect(new Set(captured.map(one => one.message.to[0])).size).toBe(100)
    expect(captured).toHaveLength(100)
  })

  test('of 100 from each of ten companies at once is 1000 e-mails', async () => {
    const companies = await Promise.all(many(10, () => gateway.company()))
    const answers = await Promise.all(companies.map(one => gateway.call(one, 'POST', '/v1/email/batch', numbered(100))))
    expect(answers.map(answer => answer.status)).toEqual(many(10, () => 202))
    const ids = answers.flatMap(answer => answer.body.data.map((one: Json) => one.outboxId))
    expect(new Set(ids).size).toBe(1000)
    await until(
      () =>
        rows(gateway, `select count(*)::int from email_outbox where outbox_id = any($1) and status = 'SENT'`, [ids]),
      ([row]) => row.count === 1000,
      30_000,
    )
  })

  test('may hold the same e-mail twice, which is two e-mails', async () => {
    const answer = await sendBatch([
      mail({ recipient: { externalId: 'c-1' } }),
      mail({ recipient: { externalId: 'c-1' } }),
    ])
    expect(new Set(answer.body.data.map((one: Json) => one.outboxId)).size).toBe(2)
    expect(await kept()).toMatchObject({ email_outbox: 2, recipients: 1 })
    const people = await rows(gateway, 'select distinct recipient_id from email_outbox where company_id = $1', [
      company.companyId,
    ])
    expect(people).toHaveLength(1)
  })

  test('may say different things about one recipient: the last word counts', async () => {
    await sendBatch(many(5, index => mail({ recipient: { externalId: 'c-1', nome: `Name ${index}` } })))
    const people = await rows(gateway, 'select nome from recipients where company_id = $1', [company.companyId])
    expect(people).toEqual([{ nome: 'Name 4' }])
  })

  test('may mix what is sent now, later, with files and for recipients', async () => {
    const answer = await sendBatch([
      mail(),
      mail({ delay: 3_600_000 }),
      mail({ attachments: [{ filename: 'a.txt', content: 'AAAA' }] }),
      mail({ recipient: { nome: 'Maria' }, cc: ['joao@example.com'] }),
      mail({ cc: [SUPPRESSED] }),
    ])
    expect(answer.status).toBe(202)
    expect(answer.body.data.map((one: Json) => one.suppressed)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      [hashEmail(SUPPRESSED)],
    ])
    expect(await kept()).toMatchObject({
      email_outbox: 5,
      email_scheduled: 1,
      email_attachments: 1,
      recipients: 1,
      email_recipients: 7,
    })
  })

  test.each<[string, unknown]>([
    ['of none', []],
    ['of 101', numbered(101)],
    ['that is an object', mail()],
    ['that is an object with a list', { data: [mail()] }],
    ['that is a text', '"x"'],
    ['that is null', 'null'],
    ['that is empty', ''],
  ])('%s is refused', async (_name, body) => {
    for (const mode of ['strict', 'permissive'] as const) {
      const answer = await sendBatch(body, mode)
      expect([answer.status, answer.body.code]).toEqual([422, 'INVALID_PAYLOAD'])
      expect(answer.body.errors[0].message).toMatch(/1 to 100/)
      expect(await kept()).toEqual(NOTHING_KEPT)
    }
  })

  test('that is too long says how many it has, and one that is no list that it must be one', async () => {
    const [tooLong] = (await sendBatch(numbered(101))).body.errors
    const message = 'must be an array of 1 to 100 e-mails'
    expect(tooLong).toEqual({ path: '', code: 'TOO_LARGE', limit: 100, unit: 'items', message: `${message}, has 101` })
    expect((await sendBatch({})).body.errors).toEqual([{ path: '', code: 'INVALID_TYPE', message }])
  })

  test('with a mode that does not exist is refused', async () => {
    const answer = await sendBatch([mail()], 'loose' as 'strict')
    expect([answer.status, answer.body.errors[0].path]).toEqual([422, 'x-batch-validation'])
    expect(await kept()).toEqual(NOTHING_KEPT)
  })
})

describe('a batch of 100 with expensive HTML does not hold up other requests', () => {
  test.each([
    ['that is refused', REOPENED_FORMATTING, 422],
    ['that is accepted', WORST_ACCEPTED, 202],
  ])('%s', async (_name, html, status) => {
    let done = false
    const batch = sendBatch(many(100, () => mail({ html }))).finally(() => (done = true))
    let longestMs = 0
    while (!done) {
      const started = performance.now()
      await fetch(`${gateway.url}/health/live`)
      longestMs = Math.max(longestMs, performance.now() - started)
    }
    expect((await batch).status).toBe(status)
    // One such e-mail took 1 s, and the 100 of a batch one after the other without a pause.
    expect(longestMs).toBeLessThan(2_000)
  })
})

const WRONG: [string, unknown, string, string][] = [
  ['a wrong address', mail({ to: 'wrong' }), 'INVALID_EMAIL', 'to'],
  ['wrong HTML', mail({ html: '<script>' }), 'INVALID_TEMPLATE', 'html'],
  ['wrong HTML, large', mail({ html: `${'<p>x</p>'.repeat(5_000)}<script>` }), 'INVALID_TEMPLATE', 'html'],
  ['two faults of different kinds', mail({ to: 'wrong', priority: 0 }), 'INVALID_PAYLOAD', 'priority'],
  ['an unknown field', mail({ foo: 1 }), 'INVALID_PAYLOAD', 'foo'],
  [
    'a field deep inside',
    mail({ attachments: [{ filename: 'a/b', content: 'AAAA' }] }),
    'INVALID_PAYLOAD',
    'attachments[0].filename',
  ],
  [
    'a time too far',
    mail({ scheduledAt: new Date(Date.now() + 31 * 86_400_000).toISOString() }),
    'INVALID_PAYLOAD',
    'scheduledAt',
  ],
  ['a template, which there are none of yet', mail({ template: 'x' }), 'INVALID_PAYLOAD', 'template'],
  [
    'an unknown recipient',
    mail({ recipient: { recipientId: NOBODY } }),
    'RECIPIENT_NOT_FOUND',
    'recipient.recipientId',
  ],
]

describe('a strict batch', () => {
  test.each(WRONG)('with %s keeps nothing and names the place', async (_name, wrong, code, path) => {
    for (const mode of [undefined, 'strict'] as const) {
      const answer = await sendBatch([mail(), mail({ recipient: { externalId: 'c-1' } }), wrong, mail()], mode)
      expect([answer.status, answer.body.code]).toEqual([422, code])
      expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/)
      expect(answer.body.errors.map((error: Json) => error.path)).toContain(`[2].${path}`)
      expect(await kept()).toEqual(NOTHING_KEPT)
    }
  })

  test('names every fault of every member', async () => {
    const answer = await sendBatch([mail({ to: 'wrong' }), mail(), mail({ subject: '', priority: 0 })])
    expect([answer.status, answer.body.code]).toEqual([422, 'INVALID_PAYLOAD'])
    expect(answer.body.errors.map((error: Json) => error.path)).toEqual(['[0].to', '[2].subject', '[2].priority'])
  })

  test.each([[null], [5], ['x'], [[]]])('with %o as member keeps nothing', async member => {
    const answer = await sendBatch([mail(), member])
    expect([answer.status, answer.body.code]).toEqual([422, 'INVALID_PAYLOAD'])
    expect(answer.body.errors.every((error: Json) => error.path.startsWith('[1]'))).toBe(true)
    expect(await kept()).toEqual(NOTHING_KEPT)
  })

  test('with a suppressed recipient is refused with the hash and keeps nothing', async () => {
    const answer = await sendBatch([mail(), mail({ to: SUPPRESSED, recipient: { externalId: 'c-1' } })])
    expect([answer.status, answer.body.code]).toEqual([403, 'RECIPIENT_SUPPRESSED'])
    expect(answer.body.recipient).toBe(hashEmail(SUPPRESSED))
    expect(answer.body.errors[0].path).toBe('[1].to')
    expect(answer.text + gateway.logs()).not.toContain('in-the-clear')
    expect(await kept()).toEqual(NOTHING_KEPT)
  })

  test('with the last of a hundred wrong keeps nothing', async () => {
    const answer = await sendBatch([...numbered(99), mail({ to: SUPPRESSED })])
    expect(answer.status).toBe(403)
    expect(await kept()).toEqual(NOTHING_KEPT)
  })

  test('that is refused does not harm its neighbours of the same moment', async () => {
    const [one, two] = [await gateway.company(), await gateway.company()]
    const answers = await Promise.all(
      many(20, index => {
        const bodies = index % 2 ? [mail(), mail({ to: SUPPRESSED })] : [mail(), mail()]
        return gateway.call(index % 4 < 2 ? one : two, 'POST', '/v1/email/batch', bodies)
      }),
    )
    expect(answers.map(answer => answer.status)).toEqual(many(20, index => (index % 2 ? 403 : 202)))
    for (const { companyId } of [one, two]) {
      expect(await keptOf(gateway, companyId)).toMatchObject({
        email_outbox: 10,
        email_content: 10,
        email_recipients: 10,
      })
    }
  })
})

describe('a permissive batch', () => {
  test('without a fault has no errors', async () => {
    const answer = await sendBatch(numbered(3), 'permissive')
    expect([answer.status, Object.keys(answer.body)]).toEqual([202, ['data']])
  })

  test('keeps the good ones in order, and names the others by index', async () => {
    const wrong = WRONG.map(([, body]) => body)
    const bodies = wrong.flatMap((body, index) => [mail({ subject: `Good ${index}` }), body])
    const answer = await sendBatch(bodies, 'permissive')
    expect(answer.status).toBe(202)
    expect(await subjectsOf(answer.body.data)).toEqual(wrong.map((_, index) => `Good ${index}`))
    expect(answer.body.errors).toEqual(
      WRONG.map(([, , code], index) => ({ index: 2 * index + 1, code, message: expect.stringMatching(/\S/) })),
    )
    expect(await kept()).toMatchObject({ email_outbox: wrong.length, email_content: wrong.length, recipients: 0 })
  })

  test('names the field in the message', async () => {
    const answer = await sendBatch([mail({ subject: '', priority: 11 }), mail()], 'permissive')
    expect(answer.body.errors[0].message).toMatch(/subject.*priority/)
  })

  test('leaves out a suppressed recipient without its address', async () => {
    const answer = await sendBatch([mail({ to: SUPPRESSED }), mail({ subject: 'Good' })], 'permissive')
    expect(answer.status).toBe(202)
    expect(await subjectsOf(answer.body.data)).toEqual(['Good'])
    expect(answer.body.errors).toEqual([{ index: 0, code: 'RECIPIENT_SUPPRESSED', message: expect.any(String) }])
    expect(answer.text + gateway.logs()).not.toContain('in-the-clear')
  })

  test.each<[string, unknown[], string[]]>([
    [
      'wrong',
      [mail({ to: 'wrong' }), null, mail({ subject: '' })],
      ['INVALID_EMAIL', 'INVALID_PAYLOAD', 'INVALID_PAYLOAD'],
    ],
    [
      'wrong or with wrong HTML',
      [mail({ to: 'wrong' }), mail({ html: '<script>' })],
      ['INVALID_EMAIL', 'INVALID_TEMPLATE'],
    ],
    [
      'suppressed',
      [mail({ to: SUPPRESSED }), mail({ to: SUPPRESSED })],
      ['RECIPIENT_SUPPRESSED', 'RECIPIENT_SUPPRESSED'],
    ],
  ])('of which all are %s keeps nothing and answers so', async (_name, bodies, codes) => {
    const answer = await sendBatch(bodies, 'permissive')
    expect([answer.status, answer.body.data]).toEqual([202, []])
    expect(answer.body.errors.map((error: Json) => error.code)).toEqual(codes)
    expect(await kept()).toEqual(NOTHING_KEPT)
  })
})
