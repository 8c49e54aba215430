import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hashPassword, putAdministrator } from '../../src/admins/administrators.ts'
import { rollUpStatistics } from '../../src/companies/statistics.ts'
import { hashEmail } from '../../src/platform/text/hashing.ts'
import { addSuppressions } from '../../src/suppression/list.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../support/gateway.ts'

const LOGIN = { authorization: `Basic ${Buffer.from('admin:correct horse battery').toString('base64')}` }

let gateway: TestGateway
let company: TestCompany
let other: TestCompany

beforeAll(async () => {
  gateway = await startTestGateway()
  company = await gateway.company({ name: 'acme' })
  other = await gateway.company({ name: 'other' })
  await putAdministrator(gateway.db.pool, 'admin', await hashPassword('correct horse battery'))
})
afterAll(() => gateway?.stop())

const get = (path: string) => gateway.call(null, 'GET', path, undefined, LOGIN)
const post = (path: string, body: unknown) => gateway.call(null, 'POST', path, body, LOGIN)
const search = (text: string) => post('/admin/emails/search', { search: text })

async function send(body: object, by = company): Promise<string> {
  const answer = await gateway.call(by, 'POST', '/v1/email/send', { subject: 'Hello', text: 'Hi', ...body })
  expect(answer.status).toBe(202)
  return answer.body.outboxId
}

const untilStatus = (outboxId: string, status: string) =>
  until(
    () => get(`/admin/emails/${outboxId}`),
    answer => answer.body.status === status,
  )

/** As an e-mail that ended so: the rules of the gateway are tested elsewhere. */
const setStatus = (outboxId: string, status: string, event: string) =>
  gateway.db.pool.query(
    `with ended as (update email_outbox set status = $2 where outbox_id = $1 returning outbox_id, company_id)
     insert into email_events (outbox_id, company_id, type) select outbox_id, company_id, $3 from ended`,
    [outboxId, status, event],
  )

const idsOf = (answer: { body: { data: { outboxId: string }[] } }) => answer.body.data.map(one => one.outboxId)

describe('look-ups', () => {
  test('find an e-mail by id, address, external id and message id, and say by which', async () => {
    const id = await send({ to: 'Maria@Lookup.example', externalId: 'boleto-4711' })
    const { body: email } = await untilStatus(id, 'SENT')
    const hash = hashEmail('maria@lookup.example')
    for (const [text, by, value] of [
      [id.toUpperCase(), 'id', id],
      ['maria@lookup.example', 'recipient', hash],
      [hash, 'recipient', hash],
      ['boleto-4711', 'externalId', 'boleto-4711'],
      [email.messageId, 'messageId', email.messageId],
    ] as const) {
      const found = await search(text)
      expect(idsOf(found), text).toEqual([id])
      expect(found.body).toMatchObject({ lookup: { by, value }, range: null, older: null, newer: null })
      expect(idsOf(await get(`/admin/emails?${by}=${encodeURIComponent(value)}`))).toEqual([id])
    }
    expect((await search('nobody@lookup.example')).body).toMatchObject({ data: [], suppression: [] })
  })

  test('of an address that never got in show the suppression beside the empty list', async () => {
    const emailHash = hashEmail('stopped@lookup.example')
    await addSuppressions(gateway.db.pool, [
      { companyId: null, emailHash, reason: 'HARD_BOUNCE', expiresInDays: 90, metadata: {}, performedBy: 'system' },
    ])
    const { body } = await search(' Stopped@lookup.example')
    expect(body).toMatchObject({ data: [], suppression: [{ emailHash, reason: 'HARD_BOUNCE', companyId: null }] })
  })
})

describe('lists', () => {
  test('filter by company, status, tag, template and mode within the range that they name', async () => {
    const testKey = await gateway.key(other.companyId, { mode: 'test' })
    const scheduledAt = new Date(Date.now() + 3_600_000).toISOString()
    const waiting = await send({ to: 'a@list.example', scheduledAt }, other)
    const tagged = await send({ to: 'b@list.example', tags: ['boleto'] }, other)
    const ofTestKey = await send({ to: 'c@list.example' }, { ...other, ...testKey })
    await Promise.all([untilStatus(tagged, 'SENT'), untilStatus(ofTestKey, 'SENT')])
    const list = (query: string) => get(`/admin/emails?company=${other.companyId}&${query}`)
    expect(idsOf(await list(''))).toEqual([ofTestKey, tagged, waiting])
    expect(idsOf(await list('status=PENDING'))).toEqual([waiting])
    expect(idsOf(await list('tag=boleto'))).toEqual([tagged])
    expect(idsOf(await list('template=invoice'))).toEqual([])
    expect(idsOf(await list('mode=test'))).toEqual([ofTestKey])
    expect(idsOf(await list('mode=live&status=SENT'))).toEqual([tagged])
    expect(idsOf(await list(`to=${new Date(Date.now() - 3_600_000).toISOString()}`))).toEqual([])
    const { range } = (await list('')).body
    expect(Date.parse(range.to) - Date.parse(range.from)).toBeCloseTo(7 * 86_400_000, -4)
    for (const [status, event] of [
      ['BOUNCED', 'BOUNCE'],
      ['DLQ', 'DLQ_MOVED'],
    ] as const) {
      await setStatus(tagged, status, event)
      await setStatus(tagged, status, event)
      expect(idsOf(await list(`status=${status}`))).toEqual([tagged])
    }
    expect((await list('from=2026-11-17T00:00:00Z&to=2026-11-16T00:00:00Z')).status).toBe(422)
  })

  test('have pages both ways, and what arrives meanwhile moves none of them', async () => {
    const paged = await gateway.company()
    const ids: string[] = []
    for (let n = 0; n < 5; n++) ids.unshift(await send({ to: `p${n}@page.example` }, paged))
    const page = (query: string) => get(`/admin/emails?company=${paged.companyId}&limit=2${query}`)
    const first = await page('')
    expect(idsOf(first)).toEqual(ids.slice(0, 2))
    expect(first.body).toMatchObject({ newer: null, older: ids[1] })
    await send({ to: 'late@page.example' }, paged)
    const second = await page(`&olderThan=${first.body.older}`)
    expect(idsOf(second)).toEqual(ids.slice(2, 4))
    const third = await page(`&olderThan=${second.body.older}`)
    expect(idsOf(third)).toEqual(ids.slice(4))
    expect(third.body).toMatchObject({ older: null, newer: ids[4] })
    const back = await page(`&newerThan=${third.body.newer}`)
    expect(idsOf(back)).toEqual(ids.slice(2, 4))
    expect(back.body).toMatchObject({ older: ids[3], newer: ids[2] })
  })
})

describe('one e-mail', () => {
  const html = '<h1>Olá</h1><img src="cid:logo"><img src="https://tracker.example/p.gif">'
  const attachments = [
    { filename: 'logo.png', contentType: 'image/png', contentId: 'logo', content: 'iVBORw0KGgo=' },
    { filename: 'ação.txt', contentType: 'text/plain', content: Buffer.from('file').toString('base64') },
  ]

  test('has what explain says, its events, attempts, recipients and webhooks', async () => {
    const id = await send({ to: 'Ana <ana@one.example>', cc: ['bia@one.example'], html, attachments })
    const { body } = await untilStatus(id, 'SENT')
    expect(body).toMatchObject({ companyName: 'acme', test: false, attachments: 2, contentGone: false, webhooks: [] })
    expect(body.explanation.summary).toMatch(/^Accepted by capture/)
    expect(body.events.map((one: { type: string }) => one.type)).toEqual(
      expect.arrayContaining(['QUEUED', 'SENT_ATTEMPT', 'SENT']),
    )
    expect(body.attemptList).toMatchObject([{ provider: 'capture', end: 'sent', message: body.messageId }])
    expect(body.recipients).toMatchObject([
      { kind: 'to', address: 'ana@one.example', name: 'Ana', status: 'SENT', suppression: null },
      { kind: 'cc', address: 'bia@one.example', status: 'SENT' },
    ])
    expect(body.may).toEqual({ resend: false, replay: false, cancel: false, reschedule: false })
    expect((await get('/admin/emails/019a8f2e-3c10-7b1e-9a55-5a6c1d7e2f30')).status).toBe(404)
  })

  test('says how many of its recipients bounced, whom each report is about, and so does explain', async () => {
    const copies = ['bounce@simulator.test', 'bia@simulator.test', 'bounce+second@simulator.test']
    const id = await send({ to: 'delivered@simulator.test', cc: copies })
    const { body } = await until(
      () => get(`/admin/emails/${id}`),
      answer => answer.body.events.filter((one: { type: string }) => one.type === 'BOUNCE').length === 2,
    )
    expect(body).toMatchObject({ status: 'DELIVERED', bounced: 2 })
    expect(body.explanation.summary).toMatch(/server at [^;]+; 2 of its 4 recipients bounced\.$/)
    expect((await gateway.call(company, 'GET', `/v1/email/${id}/explain`)).body.summary).toBe(body.explanation.summary)
    const reported = body.events.filter((one: { recipient: number | null }) => one.recipient !== null)
    const outcomes = reported.map(({ type, recipient }: { type: string; recipient: number }) => `${type} ${recipient}`)
    expect(outcomes.sort()).toEqual(expect.arrayContaining(['BOUNCE 1', 'BOUNCE 3', 'DELIVERED 0']))
    const listed = (await get(`/admin/emails?id=${id}`)).body.data
    expect(listed).toMatchObject([{ status: 'DELIVERED', bounced: 2 }])
  })

  test('shows its content, its source, its attachments, and a preview that runs and loads nothing', async () => {
    const id = await send({ to: 'ana@one.example', html, attachments, headers: { 'X-Order': '1' } })
    const content = await get(`/admin/emails/${id}/content`)
    expect(content.body).toMatchObject({ html, hasRemoteContent: true, headers: { 'X-Order': '1' } })
    expect(content.body.attachments.map((one: { filename: string }) => one.filename)).toEqual(['logo.png', 'ação.txt'])
    const preview = await get(`/admin/emails/${id}/preview`)
    expect(preview.text).toContain('src="data:image/png;base64,iVBORw0KGgo="')
    expect(preview.headers.get('content-security-policy')).toMatch(/^sandbox; default-src 'none'; img-src data:; /)
    const remote = await get(`/admin/emails/${id}/preview?images=remote`)
    expect(remote.headers.get('content-security-policy')).toContain('img-src data: https: http:;')
    const source = await get(`/admin/emails/${id}/source`)
    expect(source.headers.get('content-disposition')).toBe(`attachment; filename*=UTF-8''${id}.eml`)
    expect(source.text).toMatch(/^From: .*\r\nTo: ana@one\.example\r\n/m)
    const file = await get(`/admin/emails/${id}/attachments/1`)
    expect([file.text, file.headers.get('content-type')]).toEqual(['file', 'application/octet-stream'])
    expect((await get(`/admin/emails/${id}/attachments/2`)).status).toBe(404)
  })

  test('is sent again, cancelled and moved, each with its entry in the audit log', async () => {
    const ended = await send({ to: 'rui@one.example' })
    await untilStatus(ended, 'SENT')
    expect((await post(`/admin/emails/${ended}/resend`, {})).body.code).toBe('NOT_ENDED')
    await setStatus(ended, 'BOUNCED', 'BOUNCE')
    const resent = await post(`/admin/emails/${ended}/resend`, { reason: 'asked by rui@one.example' })
    expect(resent).toMatchObject({ status: 202, body: { resendOf: ended } })
    expect((await get(`/admin/emails/${ended}`)).body.resentAs).toEqual([resent.body.outboxId])
    expect((await untilStatus(resent.body.outboxId, 'SENT')).body.resendOf).toBe(ended)

    expect((await get(`/admin/emails/${ended}`)).body.may).toMatchObject({ resend: true, replay: false })
    await setStatus(ended, 'EXPIRED', 'EXPIRED')
    expect((await get(`/admin/emails/${ended}`)).body.may).toMatchObject({ resend: true, replay: true })

    const soon = new Date(Date.now() + 3_600_000).toISOString()
    const later = new Date(Date.now() + 7_200_000).toISOString()
    const waiting = await send({ to: 'rui@one.example', scheduledAt: soon })
    expect((await get(`/admin/emails/${waiting}`)).body.may).toEqual({
      ...{ resend: false, replay: false, cancel: true, reschedule: true },
    })
    expect((await post(`/admin/emails/${waiting}/reschedule`, { scheduledAt: later })).body.scheduledAt).toBe(later)
    expect((await post(`/admin/emails/${waiting}/cancel`, {})).status).toBe(422)
    expect((await post(`/admin/emails/${waiting}/cancel`, { reason: 'wrong invoice' })).body.status).toBe('CANCELLED')
    expect((await post(`/admin/emails/${waiting}/cancel`, { reason: 'again' })).body.code).toBe('ALREADY_STARTED')

    const { rows } = await gateway.db.pool.query(
      `select action, subject_id, performed_by, before, after, reason from audit_log where subject_type = 'email' order by id`,
    )
    expect(rows).toEqual([
      {
        ...{ action: 'RESENT', subject_id: ended, performed_by: 'admin', before: null },
        ...{ after: { resentAs: resent.body.outboxId }, reason: 'asked by r***@o***.example' },
      },
      {
        ...{ action: 'RESCHEDULED', subject_id: waiting, performed_by: 'admin' },
        ...{ before: { status: 'PENDING', scheduledAt: soon }, after: { scheduledAt: later }, reason: null },
      },
      {
        ...{ action: 'CANCELLED', subject_id: waiting, performed_by: 'admin' },
        ...{ before: { status: 'PENDING', scheduledAt: later }, after: null, reason: 'wrong invoice' },
      },
    ])
  })
})

describe('overview', () => {
  test('counts live e-mails at once, the same before and after they are rolled up', async () => {
    const counted = await gateway.company({ name: 'counted' })
    await untilStatus(await send({ to: 'x@over.example' }, counted), 'SENT')
    await send({ to: 'y@over.example', scheduledAt: new Date(Date.now() + 3_600_000).toISOString() }, counted)
    const overview = async (range: string) => (await get(`/admin/overview?range=${range}&company=counted`)).body
    const before = await overview('1h')
    expect(before.totals).toMatchObject({ accepted: 2, sent: 1, failed: 0 })
    expect(before.series).toHaveLength(61)
    expect(before.queue.scheduled).toBeGreaterThan(0)
    expect(before.providers).toMatchObject([{ name: 'capture', state: 'healthy' }])

    await gateway.db.pool.query(`update email_events set created_at = created_at - interval '5 minutes'`)
    await gateway.db.pool.query(`update statistics_cursor set counted_until = now() - interval '10 minutes'`)
    await rollUpStatistics(gateway.db.pool)
    for (const range of ['1h', '24h', '7d', '30d'])
      expect((await overview(range)).totals, range).toMatchObject({ accepted: 2, sent: 1, failed: 0 })
  })

  test('names what needs attention, and refuses a company that there is not', async () => {
    await gateway.db.pool.query(
      `update companies set paused_at = now(), pause_reason = 'letter' where company_id = $1`,
      [other.companyId],
    )
    const { body } = await get(`/admin/overview?company=${other.companyId}`)
    expect(body.attention).toContainEqual(
      expect.objectContaining({ kind: 'company-paused', code: 'letter', companyName: 'other' }),
    )
    expect((await get('/admin/overview?company=nobody')).status).toBe(422)
    const id = await send({ to: 'h@held.example' }, other)
    await gateway.db.pool.query(`update email_outbox set created_at = now() - interval '1 hour' where outbox_id = $1`, [
      id,
    ])
    const { queue, attention } = (await get('/admin/overview?range=7d')).body
    expect(queue.held).toBe(1)
    expect(attention.map((one: { kind: string }) => one.kind)).not.toContain('waiting-long')
  })
})

describe('live figures', () => {
  const live = () => get('/admin/live').then(answer => answer.body)

  test('count what waits, and name an e-mail that has just changed with its status and not its address', async () => {
    const id = await send({ to: 'l@live.example' })
    const figures = await until(live, ({ emails }) =>
      emails.some((one: { outboxId: string; status: string }) => one.outboxId === id && one.status === 'SENT'),
    )
    expect(figures.emails).toContainEqual({ outboxId: id, companyId: company.companyId, status: 'SENT' })
    expect(figures.queue).toEqual((await get('/admin/overview?range=1h')).body.queue)
    expect(JSON.stringify(figures)).not.toContain('live.example')
    // Ten seconds later it is no news.
    await gateway.db.pool.query(
      `update email_events set created_at = created_at - interval '11 seconds' where outbox_id = $1`,
      [id],
    )
    await until(live, ({ emails }) => emails.every((one: { outboxId: string }) => one.outboxId !== id))
  })

  test('are no use of a session, which ends although an open page goes on asking', async () => {
    const signedIn = await fetch(`${gateway.url}/admin/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'admin', password: 'correct horse battery' }),
    })
    const headers = { cookie: signedIn.headers.get('set-cookie')!.split(';')[0]! }
    const ask = async (path: string) => (await gateway.call(null, 'GET', path, undefined, headers)).status
    const leftAlone = (minutes: number) =>
      gateway.db.pool.query('update admin_sessions set last_seen_at = now() - make_interval(mins => $1)', [minutes])
    const seen = async () =>
      (await gateway.db.pool.query(`select last_seen_at > now() - interval '1 minute' as lately from admin_sessions`))
        .rows[0].lately
    await leftAlone(10)
    expect([await ask('/admin/live'), await seen()]).toEqual([200, false])
    await until(
      () => ask('/admin/session').then(seen),
      lately => lately,
    )
    await leftAlone(24 * 60)
    await until(
      () => ask('/admin/live'),
      status => status === 401,
    )
  })
})
