import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestGateway, type TestGateway, until } from '../../support/gateway.ts'
import { captured, mail, read, rows, send, sendOk, untilStatus } from '../../support/mail.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway({ env: { LINK_SCHEMES: 'MyApp://' } })
})
afterAll(() => gateway.stop())

describe('links to an app', () => {
  const html = '<a href="myapp://order/1">Open</a>'
  /** Beyond 8 KB another thread checks it. */
  const large = html + '<p>x</p>'.repeat(2000)

  test.each([
    ['small', html],
    ['large', large],
  ])('in %s HTML are accepted when LINK_SCHEMES has their scheme, and sent', async (_size, content) => {
    const company = await gateway.company()
    const refused = await send(gateway, company, mail({ html: content.replace('myapp', 'otherapp') }))
    expect(refused.status).toBe(422)
    expect(refused.body.errors).toMatchObject([{ path: 'html', message: expect.stringContaining('HTML_URL_SCHEME') }])
    const outboxId = await sendOk(gateway, company, { html: content })
    await untilStatus(gateway, company, outboxId, 'SENT')
  })

  test('are judged anew in the worker where no proof of the check is kept', async () => {
    const company = await gateway.company()
    const endOf = async (change: string) => {
      const outboxId = await sendOk(gateway, company, { html, delay: 3_600_000 })
      await rows(gateway, `update email_content set ${change}, html_proof = null where outbox_id = $1`, [outboxId])
      await gateway.call(company, 'PATCH', `/v1/email/${outboxId}`, { delay: 0 })
      return until(
        () => read(gateway, company, outboxId),
        email => ['SENT', 'FAILED'].includes(email.status),
      )
    }
    expect(await endOf('html = html')).toMatchObject({ status: 'SENT' })
    expect(await endOf(`html = replace(html, 'myapp', 'otherapp')`)).toMatchObject({
      status: 'FAILED',
      lastError: { code: 'INVALID_TEMPLATE' },
    })
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
