import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { updateCompany } from '../../src/db/companies/companies.ts'
import { startTestGateway, type TestGateway, until } from '../support/gateway.ts'
import { captured, mail, read, rows, send, sendOk, untilStatus } from '../support/mail.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway()
})
afterAll(() => gateway.stop())

describe('links to the company’s own app', () => {
  const html = '<a href="myapp://order/1">Open</a>'
  /** Beyond 8 KB another thread checks it. */
  const large = html + '<p>x</p>'.repeat(2000)

  test.each([
    ['small', html],
    ['large', large],
  ])('in %s HTML are accepted from that company only, and sent', async (_size, content) => {
    const [own, other] = [await gateway.company({ linkSchemes: ['myapp'] }), await gateway.company()]
    const refused = await send(gateway, other, mail({ html: content }))
    expect(refused.status).toBe(422)
    expect(refused.body.errors).toMatchObject([{ path: 'html', message: expect.stringContaining('HTML_URL_SCHEME') }])
    const outboxId = await sendOk(gateway, own, { html: content })
    await untilStatus(gateway, own, outboxId, 'SENT')
  })

  test('are judged anew in the worker where no proof of the check is kept', async () => {
    const company = await gateway.company({ linkSchemes: ['myapp'] })
    const unproven = async () => {
      const outboxId = await sendOk(gateway, company, { html, delay: 3_600_000 })
      await rows(gateway, 'update email_content set html_proof = null where outbox_id = $1', [outboxId])
      await gateway.call(company, 'PATCH', `/v1/email/${outboxId}`, { delay: 0 })
      return until(
        () => read(gateway, company, outboxId),
        email => ['SENT', 'FAILED'].includes(email.status),
      )
    }
    expect(await unproven()).toMatchObject({ status: 'SENT' })
    const first = await sendOk(gateway, company, { html, delay: 3_600_000 })
    await updateCompany(gateway.db.pool, company.companyId, { linkSchemes: [] })
    await rows(gateway, 'update email_content set html_proof = null where outbox_id = $1', [first])
    await gateway.call(company, 'PATCH', `/v1/email/${first}`, { delay: 0 })
    const failed = await untilStatus(gateway, company, first, 'FAILED')
    expect(failed.lastError).toMatchObject({ code: 'INVALID_TEMPLATE' })
  })
})

test.each([
  ['page.html', 'text/html'],
  ['old.eml', 'message/rfc822'],
  ['logo.svg', 'image/svg+xml'],
])('%s (%s) goes out as an attachment, also with a contentId', async (filename, contentType) => {
  const company = await gateway.company()
  const content = Buffer.from('<svg/>').toString('base64')
  const files = [
    { filename, contentType, contentId: 'a@b', content },
    { filename: 'a.png', contentType: 'image/png', contentId: 'c@d', content },
  ]
  const outboxId = await sendOk(gateway, company, { attachments: files })
  await untilStatus(gateway, company, outboxId, 'SENT')
  expect((await captured(gateway, outboxId)).attachments).toMatchObject([
    { filename, contentId: null },
    { filename: 'a.png', contentId: 'c@d' },
  ])
})
