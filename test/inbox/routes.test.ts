import { simpleParser } from 'mailparser'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hashPassword, putAdministrator } from '../../src/admins/administrators.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../support/gateway.ts'
import { rows } from '../support/mail.ts'

const BASIC = { authorization: `Basic ${Buffer.from('admin:correct horse battery').toString('base64')}` }
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

let gateway: TestGateway
let company: TestCompany

beforeAll(async () => {
  gateway = await startTestGateway()
  company = await gateway.company()
  await putAdministrator(gateway.db.pool, 'admin', await hashPassword('correct horse battery'))
})
afterAll(() => gateway?.stop())

const ask = (path: string, accept = 'application/json') =>
  gateway.call(null, 'GET', path, undefined, { ...BASIC, accept })
const remove = (path: string) => gateway.call(null, 'DELETE', path, {}, BASIC)

async function captured(change: Record<string, unknown> = {}): Promise<string> {
  const email = { to: 'maria@example.com', subject: 'Hello', text: 'It works.', ...change }
  const { body } = await gateway.call(company, 'POST', '/v1/email/send', email)
  const [row] = await until(
    () => rows(gateway, 'select message_id from capture_inbox where outbox_id = $1', [body.outboxId]),
    found => found.length > 0,
  )
  return row!.message_id
}

describe('the list', () => {
  test('finds by part of the subject or of a recipient, and pages with a cursor to the end', async () => {
    const ids: string[] = []
    for (let n = 1; n <= 3; n++)
      ids.unshift(
        await captured({ subject: `Boleto ${n}`, to: `Ana <ana+${n}@shop.example>`, cc: ['joao@example.com'] }),
      )

    expect((await ask('/admin/inbox?search=BOLETO%202')).body.data).toMatchObject([
      { messageId: ids[1], message: { subject: 'Boleto 2' }, snippet: 'It works.' },
    ])
    expect((await ask('/admin/inbox?search=ana%2B3@shop')).body.data).toMatchObject([{ messageId: ids[0] }])
    expect((await ask('/admin/inbox?search=nothing-like-this')).body).toEqual({
      data: [],
      cursor: null,
      hasMore: false,
    })

    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await ask(`/admin/inbox?search=boleto&limit=1${cursor && `&cursor=${cursor}`}`)
      seen.push(...page.body.data.map((row: { messageId: string }) => row.messageId))
      expect(page.body.hasMore).toBe(page.body.cursor !== null)
      cursor = page.body.cursor
    }
    expect(seen).toEqual(ids)
  })

  test('has what a list shows, and not the contents', async () => {
    const attachments = [{ filename: 'a.txt', contentType: 'text/plain', content: 'YQ==' }]
    const html = `<p>${'y '.repeat(200_000)}</p>`
    const email = { subject: 'Large', html, text: 'z '.repeat(200_000), headers: { 'X-Order': '1' }, attachments }
    const id = await captured({ ...email, cc: ['joao@example.com'] })

    const { body, text } = await ask('/admin/inbox?search=large')
    expect(body.data).toEqual([
      {
        messageId: id,
        outboxId: expect.any(String),
        companyId: company.companyId,
        capturedAt: expect.any(String),
        snippet: 'z '.repeat(70),
        message: {
          from: expect.any(String),
          to: ['maria@example.com'],
          cc: ['joao@example.com'],
          bcc: [],
          replyTo: [],
          subject: 'Large',
          attachments: [{ filename: 'a.txt', contentType: 'text/plain', contentId: null, bytes: 1 }],
        },
      },
    ])
    expect(text.length).toBeLessThan(2_000)
    expect((await ask('/admin/inbox?search=large&content=false')).body).toEqual(body)
    expect((await ask(`/admin/inbox/${id}`)).body.message).toMatchObject({ html, headers: { 'X-Order': '1' } })
  })

  test.each([
    'content=true',
    'cursor=bm90',
    'cursor=%00',
    'search=',
    `search=${'x'.repeat(201)}`,
    'search=%00',
    'limit=0',
    'seach=a',
  ])('?%s is refused with the field that is wrong', async query =>
    expect((await ask(`/admin/inbox?${query}`)).status).toBe(422),
  )
})

describe('one message', () => {
  test('is shown with its links, as source, as a preview that loads nothing, and with its attachments as files', async () => {
    const html =
      '<p>Olá <a href="https://shop.example/pay">Pay</a><img src="cid:logo"><img src="https://x.example/p.png"></p>'
    const files = [
      { filename: 'logo.png', contentType: 'image/png', contentId: 'logo', content: PIXEL },
      { filename: 'boleto ção "1".txt', contentType: 'text/plain', content: Buffer.from('R$ 10').toString('base64') },
    ]
    const id = await captured({ subject: 'Fatura é', html, text: 'Olá', cc: ['joao@example.com'], attachments: files })

    const shown = await ask(`/admin/inbox/${id}`)
    expect(shown.body).toMatchObject({
      messageId: id,
      companyId: company.companyId,
      message: { html, attachments: [{ filename: 'logo.png' }, { filename: 'boleto ção "1".txt', bytes: 5 }] },
      links: [{ href: 'https://shop.example/pay', text: 'Pay' }],
      remoteImages: true,
    })

    const source = await ask(`/admin/inbox/${id}/source`, 'text/html')
    expect(source.headers.get('content-type')).toBe('text/plain; charset=utf-8')
    const parsed = await simpleParser(source.text)
    expect(parsed).toMatchObject({ subject: 'Fatura é', date: new Date(`${shown.body.capturedAt.slice(0, 19)}Z`) })
    expect(parsed.attachments.map(file => file.filename)).toEqual(['logo.png', 'boleto ção "1".txt'])

    const preview = await ask(`/admin/inbox/${id}/preview`, 'text/html')
    expect(preview.text).toContain(`<img src="data:image/png;base64,${PIXEL}">`)
    expect(preview.headers.get('content-security-policy')).toMatch(/^sandbox; default-src 'none'; img-src data:;/)
    const remote = await ask(`/admin/inbox/${id}/preview?remote=true`, 'text/html')
    expect(remote.headers.get('content-security-policy')).toMatch(
      /^sandbox; default-src 'none'; img-src data: https: http:;/,
    )

    const file = await ask(`/admin/inbox/${id}/attachments/1`)
    expect(file.text).toBe('R$ 10')
    expect(file.headers.get('content-type')).toBe('application/octet-stream')
    expect(file.headers.get('content-disposition')).toBe(
      `attachment; filename="boleto __o _1_.txt"; filename*=UTF-8''boleto%20%C3%A7%C3%A3o%20%221%22.txt`,
    )
    expect((await ask(`/admin/inbox/${id}/attachments/2`)).status).toBe(404)
  })

  test('is answered at once, however much space its HTML has where the address of an image might be', async () => {
    const id = await captured({ html: `<pre>src=${' '.repeat(300_000)}x</pre>` })
    const start = performance.now()
    expect((await ask(`/admin/inbox/${id}`)).body).toMatchObject({ remoteImages: false })
    expect(performance.now() - start).toBeLessThan(5_000)
  })

  test('without HTML has no preview, and says so', async () => {
    const id = await captured()
    expect(await ask(`/admin/inbox/${id}/preview`)).toMatchObject({
      status: 404,
      body: { message: 'The message has no HTML' },
    })
  })

  test('whose files were deleted by retention answers 410 for them', async () => {
    const id = await captured({ attachments: [{ filename: 'a.txt', contentType: 'text/plain', content: 'YQ==' }] })
    await gateway.db.pool.query(
      'delete from email_attachments f using capture_inbox c where c.outbox_id = f.outbox_id and c.message_id = $1',
      [id],
    )
    for (const path of ['attachments/0', 'source'])
      expect(await ask(`/admin/inbox/${id}/${path}`)).toMatchObject({ status: 410, body: { code: 'CONTENT_GONE' } })
  })
})

describe('deleting', () => {
  test('one message is audited, and the message is gone', async () => {
    const id = await captured()
    expect(await remove(`/admin/inbox/${id}`)).toMatchObject({ status: 200, body: { deleted: true, messageId: id } })
    for (const path of ['', '/source', '/preview', '/attachments/0'])
      expect((await ask(`/admin/inbox/${id}${path}`)).status).toBe(404)
    expect((await remove(`/admin/inbox/${id}`)).status).toBe(404)
    expect(
      await rows(gateway, 'select action, performed_by, company_id from audit_log where subject_id = $1', [id]),
    ).toEqual([{ action: 'CAPTURED_MESSAGE_DELETED', performed_by: 'admin', company_id: company.companyId }])
  })

  test('all is audited with their number, and a form of another site cannot do it', async () => {
    await captured()
    const asked = await gateway.call(null, 'DELETE', '/admin/inbox', {}, { ...BASIC, origin: 'https://evil.example' })
    expect(asked).toMatchObject({ status: 403, body: { code: 'CROSS_SITE_REQUEST' } })
    const { body } = await remove('/admin/inbox')
    expect(body.deleted).toBeGreaterThan(0)
    expect((await ask('/admin/inbox')).body).toEqual({ data: [], cursor: null, hasMore: false })
    expect(await rows(gateway, `select before from audit_log where action = 'INBOX_EMPTIED'`)).toEqual([
      { before: { messages: body.deleted } },
    ])
  })
})
