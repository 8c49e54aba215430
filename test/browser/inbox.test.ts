import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { CapturedMessage } from '../../src/providers/capture/inbox.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../support/gateway.ts'
import { rows } from '../support/mail.ts'
import { hostileHtml } from './hostile-message.ts'
import { expectSound, startOutside, startUi, type Ui } from './ui.ts'

let gateway: TestGateway
let company: TestCompany
let ui: Ui
let outside: Awaited<ReturnType<typeof startOutside>>

beforeAll(async () => {
  gateway = await startTestGateway()
  company = await gateway.company({ name: 'acme' })
  ui = await startUi(gateway)
  outside = await startOutside()
})
beforeEach(() => {
  outside.asked.length = 0
})
afterEach(() => ui.closeViews())
afterAll(async () => {
  await ui?.stop()
  outside?.stop()
  await gateway?.stop()
})

/** Past the rules of the accept step, as a message that an older version let in. */
async function capture(message: Partial<CapturedMessage>): Promise<string> {
  const messageId = `capture-${randomUUID()}`
  const base = { from: 'a@example.com', to: ['maria@example.com'], cc: [], bcc: [], replyTo: [], headers: {} }
  const whole = { ...base, subject: 'Hello', html: null, text: 'It works.', attachments: [], ...message }
  await gateway.db.pool.query(
    'insert into capture_inbox (message_id, attempt_id, outbox_id, company_id, message) values ($1, $2, $3, $4, $5)',
    [messageId, randomUUID(), randomUUID(), company.companyId, JSON.stringify(whole)],
  )
  return messageId
}

test('a message beside the list looks as it should', async () => {
  const html = '<h1 style="color:#123456">Olá, Maria</h1><p>Your parcel has <b>left</b> our warehouse.</p>'
  const subject = `Your order & its <b>parcel</b> ${'Donaudampfschifffahrtsgesellschaft'.repeat(4)}`
  const messageId = await capture({ subject, html, to: [`Maria <${'m'.repeat(60)}@example.com>`] })
  const view = await ui.openView(`/inbox/${messageId}`, { language: 'pt' })
  const { page, requests } = view
  const preview = page.frameLocator('iframe')
  expect(await preview.getByRole('heading').innerText()).toBe('Olá, Maria')
  const colour = await page.frames()[1]!.evaluate('getComputedStyle(document.querySelector("h1")).color')
  expect(colour).toBe('rgb(18, 52, 86)')
  await expectSound(view, 'inbox')
  expect(requests.filter(url => !url.startsWith(gateway.url))).toEqual([])
})

test('shows a hostile message as text, and runs and loads nothing of it, whatever is clicked', async () => {
  const subject = `"><script>document.title='ran'</script><img src="${outside.url}/subject.png">`
  const messageId = await capture({
    subject,
    from: `<img src="${outside.url}/from.png"> <evil@example.com>`,
    headers: { 'X-<b>': `"><iframe src="${outside.url}/header"></iframe>` },
    text: `</pre><script>fetch('${outside.url}/text')</script>`,
    html: hostileHtml(outside.url),
    attachments: [
      { filename: `<img src="${outside.url}/file.png">`, contentType: 'text/plain', contentId: null, bytes: 1 },
    ],
  })
  const { page } = await ui.openView(`/inbox/${messageId}`)
  await page.getByRole('heading', { name: subject }).waitFor()
  const preview = page.frameLocator('iframe')
  await preview.getByText('You have won').waitFor()
  // The refresh of the message asks for 0 seconds; images and scripts come at once.
  await page.waitForTimeout(500)
  for (const id of ['submit', 'link', 'top', 'blank', 'javascript']) {
    await preview
      .locator(`#${id}`)
      .click({ timeout: 300 })
      .catch(() => undefined)
    await page.waitForTimeout(100)
  }
  expect(new URL(page.url()).pathname).toBe(`/admin/inbox/${messageId}`)
  for (const tab of ['Text', 'Headers', /Attachments/, /Links/]) await page.getByRole('tab', { name: tab }).click()
  expect(outside.asked).toEqual([])
  expect(page.context().pages()).toHaveLength(1)
  expect(await page.title()).not.toBe('ran')
})

test('is what protects: the same message in a bare page runs and loads', async () => {
  const page = await ui.browser.newPage()
  await page.setContent(hostileHtml(outside.url).replace(/<meta[^>]*refresh[^>]*>/, ''))
  await until(
    async () => outside.asked,
    asked => ['/script', '/onerror', '/image.png', '/stylesheet.css'].every(path => asked.includes(path)),
  )
  await page.close()
})

test('finds by subject, announces what has come, deletes one and then all', async () => {
  await capture({ subject: 'Boleto 4711' })
  const { page } = await ui.openView('/inbox?search=boleto')
  const list = page.getByRole('navigation', { name: 'Messages' })
  await list.getByRole('link', { name: /Boleto 4711/ }).click()
  await capture({ subject: 'Boleto 4712' })
  await page.getByRole('button', { name: '1 new message' }).click({ timeout: 10_000 })
  await list.getByRole('link', { name: /Boleto 4712/ }).waitFor()

  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByText('Message deleted').waitFor()
  await list.getByRole('link', { name: /Boleto 4711/ }).waitFor({ state: 'detached' })

  await page.getByRole('button', { name: 'Delete all' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete all' }).click()
  await page.getByText('Nothing was captured yet').waitFor()
  expect(await rows(gateway, 'select from capture_inbox')).toEqual([])
  await page.getByRole('searchbox').fill('invoice')
  await page.getByText('No message has “invoice”').waitFor()
  expect(await page.getByRole('button', { name: 'Delete all' }).isDisabled()).toBe(true)
})

test('providers: why one is parked, and "try now"', async () => {
  await gateway.db.pool.query(
    `update providers set state = 'open', opened_at = now(), reason_code = 'SES_DAILY_QUOTA_EXCEEDED', reason = 'The daily quota is used up',
       probes = 4, probe_at = now() + interval '1 hour' where name = 'capture'`,
  )
  const view = await ui.openView('/providers')
  const { page } = view
  await page.getByText('The daily quota is used up').waitFor()
  await expectSound(view, 'providers')
  await page.getByRole('button', { name: 'Try now' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Try now' }).click()
  await page.getByText('The next e-mail tries capture.').waitFor()
  expect(await rows(gateway, `select from audit_log where action = 'PROVIDER_PROBE_REQUESTED'`)).toHaveLength(1)
})
