import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { hashEmail } from '../../src/platform/text/hashing.ts'
import { addSuppressions } from '../../src/suppression/list.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../support/gateway.ts'
import { hostileHtml } from './hostile-message.ts'
import { axeViolations, expectSound, ready, screenshot, startOutside, startUi, type Ui } from './ui.ts'

let gateway: TestGateway
let ui: Ui
let company: TestCompany
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
  outside?.stop()
  await ui?.stop()
  await gateway?.stop()
})

async function send(body: object): Promise<string> {
  const answer = await gateway.call(company, 'POST', '/v1/email/send', { subject: 'Hello', text: 'Hi', ...body })
  expect(answer.status, answer.text).toBe(202)
  return answer.body.outboxId
}

const untilStatus = (outboxId: string, status: string) =>
  until(
    () => gateway.call(company, 'GET', `/v1/email/${outboxId}`),
    answer => answer.body.status === status,
  )

test('the list and an e-mail look as they should; the keyboard opens it', async () => {
  const id = await send({
    to: `Maria <${'m'.repeat(60)}@example.com>`,
    cc: ['delivered@simulator.test'],
    subject: 'Boleto com vencimento em dezembro e uma palavra_muito_longa_sem_espaços_'.repeat(2),
    tags: ['boleto'],
    externalId: `boleto-${'4711'.repeat(8)}`,
    html: '<h1>Olá</h1><img src="cid:logo" alt="logo"><img src="https://tracker.example/p.gif" alt="">',
    attachments: [{ filename: 'logo.png', contentType: 'image/png', contentId: 'logo', content: 'iVBORw0KGgo=' }],
  })
  await untilStatus(id, 'SENT')
  const view = await ui.openView('/emails', { language: 'pt' })
  const { page, requests } = view
  await expectSound(view, 'emails')
  await page.getByPlaceholder('Situação', { exact: true }).click()
  await page.getByRole('option', { name: 'Nova tentativa' }).waitFor()
  expect.soft(await axeViolations(page, ['region', 'scrollable-region-focusable'])).toEqual([])
  await page.keyboard.press('Escape')
  await page.locator('h1').click()
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.waitForURL(`**/admin/emails/${id}`)
  await ready(page)
  await page.frameLocator('iframe').getByRole('heading', { name: 'Olá' }).waitFor()
  // The policy refuses the image, and Chromium says so.
  const complaints = view.complaints.filter(text => !text.includes('tracker.example'))
  await expectSound({ ...view, complaints }, 'email')
  expect(requests.filter(url => !url.startsWith(gateway.url) && !url.startsWith('data:'))).toEqual([
    'https://tracker.example/p.gif',
  ])
})

test('an e-mail whose copies bounced says so beside its status, and names whom each report is about', async () => {
  const id = await send({
    to: 'delivered@simulator.test',
    cc: ['bounce+first@simulator.test', 'bounce+second@simulator.test', 'delivered+copy@simulator.test'],
    subject: 'Partly delivered',
  })
  await until(
    () => gateway.call(company, 'GET', `/v1/email/${id}`),
    ({ body }) => body.events.filter(({ type }: { type: string }) => type === 'BOUNCE').length === 2,
  )
  const { page } = await ui.openView('/emails', { language: 'pt' })
  await page.getByRole('row', { name: /Entregue.*2 de 4 devolvidos.*Partly delivered/ }).waitFor()
  await screenshot(page, 'emails-bounced')
  await page.getByRole('link', { name: 'Partly delivered' }).click()
  await page.getByText('2 de 4 devolvidos').waitFor()
  await page.getByText(/Entregue ao servidor do destinatário em .*\. 2 dos seus 4 destinatários tiveram/).waitFor()
  const step = page.getByRole('listitem').filter({ hasText: 'Devolvido' }).filter({ hasText: 'bounce+second' })
  await step.first().waitFor()
  await screenshot(page, 'email-bounced')
})

test('an e-mail that failed before its first attempt has none', async () => {
  const { rows } = await gateway.db.pool.query(
    `select put_sql_email($1, false, null, 'retired_template', 'maria@example.com', '{}') as id`,
    [company.companyId],
  )
  await untilStatus(rows[0].id, 'FAILED')
  const { page } = await ui.openView(`/emails/${rows[0].id}`)
  await page.getByText('No attempt was made.').waitFor()
  await page.getByText('0 of 4', { exact: true }).waitFor()
})

describe('a hostile e-mail', () => {
  const attack = (name: string) =>
    `"><img src="${outside.url}/${name}.png" onerror="document.title='ran'"><script>fetch('${outside.url}/${name}')</script>`

  /** Past the rules of the accept step, as a message that an older version let in. */
  async function hostileEmail(): Promise<string> {
    const id = await send({ to: 'victim@example.com' })
    await untilStatus(id, 'SENT')
    await gateway.db.pool.query(
      `update email_outbox set status = 'BOUNCED', subject = $2, tags = array[$3::text], template_type = $4, error_code = 'X', failure_reason = $5
       where outbox_id = $1`,
      [id, attack('subject'), attack('tag'), attack('template'), attack('reason')],
    )
    await gateway.db.pool.query('update email_content set html = $2, text = $3 where outbox_id = $1', [
      id,
      hostileHtml(outside.url),
      `</pre>${attack('text')}`,
    ])
    await gateway.db.pool.query(
      `insert into email_events (outbox_id, company_id, type, metadata) values ($1, $2, 'BOUNCE', $3)`,
      [id, company.companyId, JSON.stringify({ bounceType: 'Permanent', diagnosticCode: attack('diagnostic') })],
    )
    return id
  }

  test('is shown as text; its preview runs and loads nothing, but for images once somebody asks for them', async () => {
    const id = await hostileEmail()
    const { page } = await ui.openView('/emails?status=BOUNCED')
    await page.getByRole('link', { name: attack('subject') }).waitFor()
    await page.goto(`${gateway.url}/admin/emails/${id}`)
    await ready(page)
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe(attack('subject'))
    for (const name of ['tag', 'template', 'diagnostic'])
      await page.getByText(attack(name), { exact: true }).first().waitFor()
    await page.getByText(`The recipient's server returned it: ${attack('diagnostic')}`, { exact: true }).waitFor()
    const preview = page.frameLocator('iframe')
    await preview.getByText('You have won').waitFor()
    // The refresh of the message asks for 0 seconds; images and scripts come at once.
    await page.waitForTimeout(500)
    await screenshot(page, 'email-hostile')
    for (const link of ['submit', 'link', 'top', 'blank', 'javascript']) {
      await preview
        .locator(`#${link}`)
        .click({ timeout: 300 })
        .catch(() => undefined)
      await page.waitForTimeout(100)
    }
    await page.getByRole('tab', { name: 'Text' }).click()
    await page.getByText(`</pre>${attack('text')}`, { exact: true }).waitFor()
    expect(outside.asked).toEqual([])
    expect(page.context().pages()).toHaveLength(1)
    expect(await page.title()).not.toBe('ran')
    expect(new URL(page.url()).pathname).toBe(`/admin/emails/${id}`)

    await page.getByRole('tab', { name: 'HTML' }).click()
    await page.getByRole('button', { name: 'Show images' }).click()
    await until(
      async () => outside.asked,
      asked => asked.includes('/image.png'),
    )
    await page.waitForTimeout(300)
    // Chromium lets a document prefetch what it may show as an image; that tells the sender no more.
    expect(outside.asked.filter(path => !/^\/([a-z-]+\.png|prefetch)$/.test(path))).toEqual([])
    expect(await page.title()).not.toBe('ran')
  })
})

test('an e-mail that waits for a retry says when and why in Portuguese; one that was slowed down did not fail', async () => {
  const id = await send({ to: 'later@example.com', scheduledAt: new Date(Date.now() + 3_600_000).toISOString() })
  const waitFor = (code: string, category: string) =>
    gateway.db.pool.query(
      `update email_outbox set status = 'RETRY_SCHEDULED', provider = 'ses', error_code = $2, error_category = $3,
         failure_reason = 'Slow down' where outbox_id = $1`,
      [id, code, category],
    )
  await waitFor('SES_DOWN', 'TEMPORARY_ERROR')
  const { page } = await ui.openView(`/emails/${id}`, { language: 'pt' })
  await page.getByText(/^Tentativa 1 de 5 em .*\d\d:\d\d:\d\d.*, porque a última falhou: SES_DOWN: /).waitFor()
  await waitFor('SES_THROTTLED', 'QUOTA_ERROR')
  await page.reload()
  await page.getByText(/^Tentativa 1 de 5 em .*, porque ses limita a taxa de envio \(SES_THROTTLED: /).waitFor()
  expect(await page.getByText('a última falhou').count()).toBe(0)
})

test('an open list counts newer e-mails without putting them in, and shows the new status of a row', async () => {
  const scheduledAt = new Date(Date.now() + 3_600_000).toISOString()
  const first = await send({ to: 'a@example.com', subject: 'The first one', tags: ['open-list'], scheduledAt })
  const { page } = await ui.openView('/emails?status=PENDING')
  const firstRow = page.getByRole('row', { name: /The first one/ })
  await firstRow.filter({ hasText: 'Pending' }).waitFor()
  await send({ to: 'b@example.com', subject: 'The second one', scheduledAt })
  await page.getByRole('button', { name: '1 new', exact: true }).waitFor()
  expect(await page.getByRole('row', { name: /The second one/ }).count()).toBe(0)
  await gateway.call(company, 'PATCH', `/v1/email/${first}`, { delay: 0 })
  await firstRow.filter({ hasText: 'Sent' }).waitFor()
  await page.getByRole('button', { name: '1 new', exact: true }).click()
  await page.getByRole('row', { name: /The second one/ }).waitFor()
  await firstRow.waitFor({ state: 'detached' })
  expect(await page.getByRole('button', { name: /new$/ }).count()).toBe(0)
})

test('support: search an address, see why it got nothing, remove the suppression, resend, see it delivered live, find it in the audit log', async () => {
  const address = 'delivered@simulator.test'
  const emailHash = hashEmail(address)
  const rejected = await send({
    to: address,
    subject: 'Boleto 4711',
    scheduledAt: new Date(Date.now() + 3_600_000).toISOString(),
  })
  await addSuppressions(gateway.db.pool, [
    { companyId: null, emailHash, reason: 'HARD_BOUNCE', expiresInDays: 90, metadata: {}, performedBy: 'system' },
  ])
  await gateway.call(company, 'PATCH', `/v1/email/${rejected}`, { delay: 0 })
  await untilStatus(rejected, 'REJECTED')

  const { page } = await ui.openView('/emails')
  await page.getByRole('textbox', { name: 'Search e-mails' }).fill(address)
  await page.getByRole('button', { name: 'Search', exact: true }).click()
  await page.getByText('This address gets no mail').waitFor()
  expect(new URL(page.url()).searchParams.get('recipient')).toContain('sha256:')
  expect(page.url()).not.toContain('simulator')
  await screenshot(page, 'support-search')
  await page.getByRole('link', { name: 'Boleto 4711' }).click()
  await page.getByText(/Not sent\. RECIPIENT_SUPPRESSED/).waitFor()
  await screenshot(page, 'support-email')

  await page.getByRole('button', { name: 'Resend' }).click()
  const refused = page.getByRole('dialog').getByRole('note')
  await refused.getByText('It will be refused').waitFor()
  await screenshot(page, 'support-refused')
  await refused.getByRole('link', { name: 'Open the entry' }).click()
  await removeSuppression(page)
  await page.goBack()
  await page.getByRole('heading', { level: 1, name: 'Boleto 4711' }).waitFor()
  expect(await page.getByRole('link', { name: 'Open the entry' }).count()).toBe(0)
  await resend(page)
  await page.waitForURL(url => !url.pathname.endsWith(rejected))
  await page.getByText('Sends again').first().waitFor()
  await page.getByText("Delivered to the recipient's server").waitFor({ timeout: 15_000 })
  await screenshot(page, 'support-delivered')

  await page.getByRole('link', { name: 'Audit log' }).click()
  const entry = page.getByRole('row').filter({ hasText: 'Sent again' })
  await entry.getByText('Mailbox works again').waitFor()
  expect(await entry.innerText()).toContain('admin')
  await page.getByRole('row').filter({ hasText: 'The mailbox works again' }).waitFor()
  await screenshot(page, 'support-audit')
})

async function resend(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Resend' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox').fill('Mailbox works again')
  await dialog.getByRole('button', { name: 'Resend' }).click()
}

async function removeSuppression(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Remove from the list' }).click()
  const dialog = page.getByRole('dialog', { name: 'Remove a suppression' })
  await dialog.getByRole('textbox', { name: 'Reason' }).fill('The mailbox works again')
  await dialog.getByRole('button', { name: 'Remove from the list' }).click()
  await page.getByText('Removed. The address gets mail again.').waitFor()
}
