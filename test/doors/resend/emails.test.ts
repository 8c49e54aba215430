import { Resend } from 'resend'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../../support/gateway.ts'

const FROM = 'Acme <shop@example.com>'
const HELLO = { from: FROM, to: 'maria@example.com', subject: 'Hello', html: '<p>It works.</p>' }
const UUID = expect.stringMatching(/^[0-9a-f-]{36}$/)
const ISO = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/)

let gateway: TestGateway
let company: TestCompany
let resend: Resend

const client = (apiKey: string) => new Resend(apiKey, { baseUrl: gateway.url })

beforeAll(async () => {
  gateway = await startTestGateway()
  company = await gateway.company({ fromDomains: ['example.com'] })
  resend = client(company.apiKey)
})
afterAll(() => gateway.stop())

async function sendOk(change: object = {}): Promise<string> {
  const { data, error } = await resend.emails.send({ ...HELLO, ...change })
  expect(error).toBeNull()
  return data!.id
}

const reaches = (id: string, event: string) =>
  until(
    () => resend.emails.get(id),
    ({ data }) => data?.last_event === event,
  )

describe('an e-mail', () => {
  test('with every field is sent, and read back as it was given', async () => {
    const { data, error } = await resend.emails.send({
      from: FROM,
      to: ['maria@example.com', 'João <joao@example.com>'],
      cc: 'cc@example.com',
      bcc: ['bcc@example.com'],
      replyTo: 'Help <help@example.com>',
      subject: 'Olá',
      html: '<p>Hello</p><img src="cid:logo">',
      text: 'Hello',
      headers: { 'X-Order': '42' },
      tags: [{ name: 'category', value: 'confirm_email' }],
      attachments: [
        { filename: 'a.txt', content: Buffer.from('hello') },
        { filename: 'logo.png', content: 'aGVsbG8=', contentType: 'image/png', contentId: 'logo' },
      ],
    })
    expect(error).toBeNull()
    expect(data).toEqual({ id: UUID })
    const { data: email } = await reaches(data!.id, 'sent')
    expect(email).toEqual({
      object: 'email',
      id: data!.id,
      message_id: expect.stringMatching(/./),
      to: ['maria@example.com', 'João <joao@example.com>'],
      from: FROM,
      created_at: ISO,
      subject: 'Olá',
      html: '<p>Hello</p><img src="cid:logo">',
      text: 'Hello',
      bcc: ['bcc@example.com'],
      cc: ['cc@example.com'],
      reply_to: ['Help <help@example.com>'],
      last_event: 'sent',
      scheduled_at: null,
      tags: [{ name: 'category', value: 'confirm_email' }],
    })
  })

  test('with as many copies and tags as are allowed is sent to all of them', async () => {
    const many = (kind: string, count: number) => Array.from({ length: count }, (_, n) => `${kind}${n}@example.com`)
    const tags = Array.from({ length: 50 }, (_, n) => ({ name: `tag${n}`, value: 'yes' }))
    const id = await sendOk({ cc: many('cc', 24), bcc: many('bcc', 25), tags })
    const { data } = await reaches(id, 'sent')
    expect([data!.cc!.length, data!.bcc!.length, data!.tags!.length]).toEqual([24, 25, 50])
  })

  test('is accepted once for one idempotency key, and refused for another body', async () => {
    const options = { idempotencyKey: 'order-42' }
    const first = await resend.emails.send(HELLO, options)
    const again = await resend.emails.send(HELLO, options)
    expect(again.data).toEqual(first.data)
    expect(again.headers).toMatchObject({ 'idempotent-replayed': 'true' })
    const other = await resend.emails.send({ ...HELLO, subject: 'Other' }, options)
    expect(other.error).toMatchObject({ statusCode: 409, name: 'invalid_idempotent_request' })
    const tooLong = await resend.emails.send(HELLO, { idempotencyKey: 'x'.repeat(257) })
    expect(tooLong.error).toMatchObject({ statusCode: 400, name: 'invalid_idempotency_key' })
  })

  test('is scheduled in words, moved, and cancelled', async () => {
    const id = await sendOk({ scheduledAt: 'in 1 hour' })
    const { data } = await resend.emails.get(id)
    expect(data).toMatchObject({ last_event: 'scheduled', scheduled_at: ISO })
    const aheadMs = Date.parse(data!.scheduled_at!) - Date.now()
    expect(Math.abs(aheadMs - 3_600_000)).toBeLessThan(60_000)

    const later = new Date(Date.now() + 7_200_000).toISOString()
    expect((await resend.emails.update({ id, scheduledAt: later })).data).toEqual({ object: 'email', id })
    expect((await resend.emails.get(id)).data).toMatchObject({ scheduled_at: later })
    expect((await resend.emails.update({ id, scheduledAt: 'some day' })).error).toMatchObject({
      statusCode: 422,
      name: 'validation_error',
      message: expect.stringMatching(/`scheduled_at` field must be an ISO 8601 time/),
    })
    expect((await resend.emails.cancel(id)).data).toEqual({ object: 'email', id })
    expect((await resend.emails.get(id)).data).toMatchObject({ last_event: 'canceled' })
    const again = await resend.emails.cancel(id)
    expect(again.error).toMatchObject({ statusCode: 422, name: 'validation_error' })
  })

  test('has attachments that are listed and downloaded without a key', async () => {
    const id = await sendOk({
      attachments: [
        { filename: "Março d'água.txt", content: Buffer.from('hello') },
        { filename: 'logo.png', content: 'aGVsbG8h', contentId: 'logo' },
      ],
      html: '<img src="cid:logo">',
    })
    const { data: list } = await resend.emails.attachments.list({ emailId: id })
    expect(list).toEqual({
      object: 'list',
      has_more: false,
      data: [
        {
          id: 'att_0',
          filename: "Março d'água.txt",
          size: 5,
          content_type: 'text/plain',
          content_disposition: 'attachment',
          download_url: expect.stringContaining(gateway.url),
          expires_at: ISO,
        },
        expect.objectContaining({ id: 'att_1', content_disposition: 'inline', content_id: 'logo', size: 6 }),
      ],
    })
    const { data: file } = await resend.emails.attachments.get({ emailId: id, id: 'att_0' })
    expect(file).toMatchObject({ object: 'attachment', id: 'att_0', size: 5 })
    const download = await fetch(file!.download_url)
    expect(await download.text()).toBe('hello')
    expect(download.headers.get('content-disposition')).toBe(
      "attachment; filename*=UTF-8''Mar%C3%A7o%20d%27%C3%A1gua.txt",
    )
    const forged = await fetch(file!.download_url.replace('att_0', 'att_1'))
    expect(forged.status).toBe(404)
    expect(await forged.json()).toMatchObject({ statusCode: 404, name: 'not_found' })
    const missing = await resend.emails.attachments.get({ emailId: id, id: 'att_9' })
    expect(missing.error).toEqual({ statusCode: 404, name: 'not_found', message: 'Attachment not found' })
  })

  test('whose content was deleted still answers, without html and text', async () => {
    const id = await sendOk()
    await reaches(id, 'sent')
    await gateway.db.pool.query('delete from email_content where outbox_id = $1', [id])
    expect((await resend.emails.get(id)).data).toMatchObject({ id, html: null, text: null, reply_to: null })
  })
})

describe('a refusal has the form of Resend', () => {
  const REFUSED: [string, object, number, string, RegExp][] = [
    ['no recipient', { to: undefined }, 422, 'missing_required_field', /^Missing `to` field\.$/],
    ['no sender', { from: undefined }, 422, 'missing_required_field', /^Missing `from` field\.$/],
    ['no content', { html: undefined }, 422, 'validation_error', /html/],
    ['a wrong recipient', { to: ['maria'] }, 422, 'validation_error', /`to\[0\]`/],
    ['a wrong sender', { from: 'shop' }, 422, 'invalid_from_address', /`from`/],
    ['a sender of others', { from: 'a@other.example' }, 403, 'validation_error', /sender domains/],
    ['script in the HTML', { html: '<script>1</script>' }, 422, 'validation_error', /html/],
    [
      'a file to fetch',
      { attachments: [{ filename: 'y.pdf', path: 'https://x.example/y.pdf' }] },
      422,
      'invalid_attachment',
      /`attachments\[0\]\.path` field is not offered.*content/,
    ],
    ['a topic', { topicId: 't1' }, 422, 'validation_error', /topic_id/],
    ['a time in other words', { scheduledAt: 'next full moon' }, 422, 'validation_error', /scheduled_at/],
    ['a tag with a space', { tags: [{ name: 'a b', value: 'c' }] }, 422, 'validation_error', /tags\[0\]\.name/],
    ['too many recipients', { to: Array(51).fill('maria@example.com') }, 422, 'validation_error', /at most 50/],
  ]
  test.each(REFUSED)('for %s', async (_what, change, statusCode, name, message) => {
    const { data, error } = await resend.emails.send({ ...HELLO, ...change } as never)
    expect(data).toBeNull()
    expect(error).toEqual({ statusCode, name, message: expect.stringMatching(message) })
  })

  test('for a body that is not JSON, and for one that is too large', async () => {
    const { apiKey } = company
    const post = async (body: string) => {
      const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' }
      const response = await fetch(`${gateway.url}/api-keys`, { method: 'POST', headers, body })
      return { status: response.status, body: await response.json() }
    }
    expect(await post('{')).toMatchObject({ status: 400, body: { statusCode: 400, name: 'validation_error' } })
    const large = await post(JSON.stringify({ name: 'x'.repeat(70_000) }))
    expect(large).toMatchObject({ status: 413, body: { statusCode: 413, name: 'validation_error' } })
  })

  test('for a missing, wrong or restricted key', async () => {
    const anonymous = await fetch(`${gateway.url}/emails`, { method: 'POST' })
    expect(anonymous.status).toBe(401)
    expect(await anonymous.json()).toEqual({
      statusCode: 401,
      name: 'missing_api_key',
      message: 'Missing API key in the authorization header.',
    })
    const wrong = await client('re_123').emails.send(HELLO)
    expect(wrong.error).toMatchObject({ statusCode: 403, name: 'invalid_api_key' })
    const sender = await gateway.key(company.companyId, { scopes: ['send'] })
    const restricted = await client(sender.apiKey).emails.list()
    expect(restricted.error).toMatchObject({ statusCode: 401, name: 'restricted_api_key' })
  })

  test('for an e-mail that does not exist or belongs to somebody else', async () => {
    const id = await sendOk()
    const others = client((await gateway.company()).apiKey)
    const error = { statusCode: 404, name: 'not_found', message: expect.any(String) }
    expect((await others.emails.get(id)).error).toEqual(error)
    expect((await others.emails.cancel(id)).error).toEqual(error)
    expect((await others.emails.attachments.list({ emailId: id })).error).toEqual(error)
    expect((await resend.emails.get('e1')).error).toEqual(error)
    const headers = { authorization: `Bearer ${company.apiKey}` }
    const garbled = await fetch(`${gateway.url}/emails/%zz`, { headers })
    expect([garbled.status, await garbled.json()]).toEqual([
      400,
      { statusCode: 400, name: 'validation_error', message: 'The request is not valid' },
    ])
    const test = await gateway.key(company.companyId, { mode: 'test' })
    expect((await client(test.apiKey).emails.get(id)).error).toEqual(error)
  })

  test('for a company above its rate', async () => {
    const slow = client((await gateway.company({ ratePerSecond: 0.01 })).apiKey)
    const answers = [await slow.emails.send(HELLO), await slow.emails.send(HELLO)]
    expect(answers[1]!.error).toMatchObject({ statusCode: 429, name: 'rate_limit_exceeded' })
    expect(answers[1]!.headers).toMatchObject({ 'retry-after': expect.any(String), 'ratelimit-limit': '1' })
  })
})

describe('a batch', () => {
  test('is accepted as a whole', async () => {
    const { data, error } = await resend.batch.send([HELLO, { ...HELLO, to: ['joao@example.com'] }])
    expect(error).toBeNull()
    expect(data).toEqual({ data: [{ id: UUID }, { id: UUID }] })
    const { data: second } = await resend.emails.get(data!.data[1]!.id)
    expect(second).toMatchObject({ to: ['joao@example.com'] })
  })

  test('is refused as a whole when it is strict, and names the field', async () => {
    const { error } = await resend.batch.send([HELLO, { ...HELLO, to: 'x' }])
    expect(error).toEqual({
      statusCode: 422,
      name: 'validation_error',
      message: expect.stringMatching(/^The `\[1\]\.to` field /),
    })
  })

  test('that is strict names what the schema and what the later checks refuse in one answer, without hashes', async () => {
    const { error } = await resend.batch.send([
      { ...HELLO, html: '<script>1</script>' },
      { ...HELLO, to: 'x' },
      { ...HELLO, from: 'a@other.example' },
    ])
    expect(error!.message).toBe(
      'The `[0].html` field is not valid: <script> is not allowed (HTML_SCRIPT). The `[1].to` field is not valid: the e-mail address has no @. The `[2].from` field is not one of the sender domains of this company (example.com); an administrator sets them with: email-gateway company update NAME --from-domains A.COM,B.COM.',
    )
    await resend.suppressions.add({ email: 'stopped@example.com' })
    const stopped = await resend.batch.send([HELLO, { ...HELLO, to: 'stopped@example.com' }])
    expect(stopped.error).toEqual({
      statusCode: 403,
      name: 'validation_error',
      message: 'The `[1].to` field is on the suppression list.',
    })
  })

  test('accepts the valid e-mails when it is permissive, also from a repeated request', async () => {
    const options = { batchValidation: 'permissive', idempotencyKey: 'batch-1' } as const
    const send = () => resend.batch.send([{ ...HELLO, to: 'x' }, HELLO, { ...HELLO, scheduledAt: 'never' }], options)
    const { data } = await send()
    expect(data).toEqual({
      data: [{ id: UUID }],
      errors: [
        { index: 0, message: expect.stringMatching(/^to: /) },
        { index: 2, message: expect.stringMatching(/^scheduled_at: /) },
      ],
    })
    expect((await send()).data).toEqual(data)
    const all = await resend.batch.send([HELLO], { batchValidation: 'permissive' })
    expect(all.data).toEqual({ data: [{ id: UUID }], errors: [] })
    const none = await resend.batch.send([{ ...HELLO, to: 'x' }], { batchValidation: 'permissive' })
    expect(none.data).toMatchObject({ data: [], errors: [{ index: 0 }] })
  })

  test('is refused when it is empty or no array', async () => {
    expect((await resend.batch.send([])).error).toMatchObject({ statusCode: 422, name: 'validation_error' })
  })
})

test('the list goes forward and back by ids', async () => {
  const { apiKey } = await gateway.company({ fromDomains: ['example.com'] })
  const own = client(apiKey)
  const ids: string[] = []
  for (const subject of ['1', '2', '3', '4', '5']) {
    const replyTo = subject === '5' ? ['help@example.com'] : undefined
    ids.unshift((await own.emails.send({ ...HELLO, subject, ...(replyTo && { replyTo }) })).data!.id)
  }
  const idsOf = (answer: Awaited<ReturnType<typeof own.emails.list>>) => ({
    ids: answer.data!.data.map(email => email.id),
    more: answer.data!.has_more,
  })
  const first = await own.emails.list({ limit: 2 })
  expect(first.data!.object).toBe('list')
  expect(first.data!.data[0]).toEqual({
    id: ids[0],
    message_id: expect.any(String),
    to: ['maria@example.com'],
    from: FROM,
    created_at: ISO,
    subject: '5',
    bcc: null,
    cc: null,
    reply_to: ['help@example.com'],
    last_event: expect.stringMatching(/queued|sent/),
    scheduled_at: null,
  })
  expect(idsOf(first)).toEqual({ ids: ids.slice(0, 2), more: true })
  expect(idsOf(await own.emails.list({ limit: 2, after: ids[2]! }))).toEqual({ ids: ids.slice(3), more: false })
  expect(idsOf(await own.emails.list({ limit: 2, before: ids[3]! }))).toEqual({ ids: ids.slice(1, 3), more: true })
  expect(idsOf(await own.emails.list({ before: ids[3]! }))).toEqual({ ids: ids.slice(0, 3), more: false })
  expect(idsOf(await own.emails.list())).toEqual({ ids, more: false })
  expect((await own.emails.list({ after: 'x' })).error).toMatchObject({ statusCode: 422, name: 'validation_error' })
})
