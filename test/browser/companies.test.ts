import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { COMPANY_TABS } from '../../admin/src/searches.ts'
import { startTestGateway, type TestGateway, until } from '../support/gateway.ts'
import { rows } from '../support/mail.ts'
import { type Receiver, startReceiver, withStatus } from '../support/webhook-receiver.ts'
import { expectSound, ready, screenshot, scrollsSideways, startUi, type Ui } from './ui.ts'

let gateway: TestGateway
let receiver: Receiver
let ui: Ui
beforeAll(async () => {
  gateway = await startTestGateway({ env: { WEBHOOK_ALLOW_PRIVATE: 'true' } })
  receiver = await startReceiver()
  ui = await startUi(gateway)
})
afterEach(() => ui.closeViews())
afterAll(async () => {
  await ui?.stop()
  await receiver?.close()
  await gateway?.stop()
})

describe('the way of a new company', () => {
  test('it is created, its key is shown once, a webhook and a template are made, and it is paused with a reason', async () => {
    const { page, complaints, requests } = await ui.openView('/companies')
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'New company' }).click()
    await dialog.getByLabel('Name').fill('Padaria São João')
    await dialog.getByLabel('Sender domains').fill('padaria.example')
    await dialog.getByLabel('Default sender').fill('oi@other.example')
    await dialog.getByRole('button', { name: 'Create company' }).click()
    await dialog.getByText('other.example is not one of its sender domains').waitFor()
    await dialog.getByLabel('Default sender').fill('oi@padaria.example')
    await dialog.getByRole('button', { name: 'Create company' }).click()
    const apiKey = await dialog.locator('pre').innerText()
    expect(apiKey).toMatch(/^sk_live_/)
    await dialog.getByRole('button', { name: 'I have copied it' }).click()
    await page.getByRole('heading', { name: 'Padaria São João' }).waitFor()
    expect(await page.content()).not.toContain(apiKey)
    const companyId = page.url().split('/').at(-2)!
    const sent = await gateway.call({ apiKey }, 'POST', '/v1/email/send', {
      to: 'a@example.com',
      subject: 'Hi',
      text: 'x',
    })
    expect(sent.status).toBe(202)

    await page.getByRole('tab', { name: 'Webhooks' }).click()
    await page.getByRole('button', { name: 'New webhook' }).click()
    receiver.answer('/hook', withStatus(200))
    await dialog.getByLabel('URL').fill(`${receiver.url}/hook`)
    await dialog.getByRole('button', { name: 'Register the endpoint' }).click()
    await dialog.getByText(/whsec_/).waitFor()
    await dialog.getByRole('button', { name: 'I have copied it' }).click()
    await page.getByRole('button', { name: 'Send test event' }).click()
    await page.getByRole('row', { name: /webhook\.test.*Delivered.*200/ }).click()
    await page.getByText('"message": "It works."').waitFor()

    await page.goto(`${gateway.url}/admin/companies/${companyId}/templates`)
    await page.getByRole('button', { name: 'New template' }).click()
    await dialog.getByLabel('Type').fill('order_sent')
    await dialog.getByLabel('Subject').fill('Order {{ order.number }}')
    await dialog
      .getByLabel('HTML')
      .fill('<style>p { color: rgb(1, 2, 3) }</style><p style="margin: 7px">{{ user.name }}</p>')
    await dialog.getByRole('button', { name: 'Create the draft' }).click()
    await page.getByText('Order number').waitFor()
    const paragraph = page.frameLocator('iframe').locator('p')
    expect(await paragraph.innerText()).toBe('name')
    type Styles = { getComputedStyle(element: unknown): Record<string, string> }
    const styleOf = (name: string) =>
      paragraph.evaluate((element, name) => (globalThis as unknown as Styles).getComputedStyle(element)[name], name)
    expect([await styleOf('color'), await styleOf('marginTop')]).toEqual(['rgb(1, 2, 3)', '7px'])
    await page.getByLabel('Subject').fill('Order {{ order.number')
    await page.getByText('It cannot be sent like this').waitFor()
    await page.getByLabel('Subject').fill('Your order {{ order.number }}')
    await page.getByText('Your order number').waitFor()
    await page.getByRole('button', { name: 'Save draft' }).click()
    await page.getByText('Draft 2 was saved.').waitFor()
    await page.getByRole('button', { name: 'Publish' }).click()
    await dialog.getByRole('button', { name: 'Publish' }).click()
    await page.getByText('Version 2 is in use.').waitFor()

    await page.goto(`${gateway.url}/admin/companies/${companyId}`)
    await page.getByRole('button', { name: 'Pause Padaria São João' }).click()
    const pause = dialog.getByRole('button', { name: 'Pause Padaria São João' })
    expect(await pause.isDisabled()).toBe(true)
    await dialog.getByLabel('Reason').fill('They asked for it')
    await pause.click()
    await page
      .getByText(/Paused/)
      .first()
      .waitFor()
    const audit = await until(
      () => rows(gateway, 'select action, reason from audit_log where company_id = $1 order by id', [companyId]),
      entries => entries.at(-1)?.action === 'PAUSED',
    )
    expect(audit.map(({ action }) => action)).toEqual([
      ...['COMPANY_CREATED', 'WEBHOOK_CREATED', 'WEBHOOK_TESTED', 'TEMPLATE_CREATED', 'TEMPLATE_UPDATED'],
      ...['TEMPLATE_PUBLISHED', 'PAUSED'],
    ])
    expect(audit.at(-1)).toMatchObject({ reason: 'They asked for it' })
    expect(requests.filter(url => !url.startsWith(gateway.url) && !/^(about|data):/.test(url))).toEqual([])
    // The refused default sender is the one answer that is an error.
    expect(complaints.filter(text => !/status of 422/.test(text))).toEqual([])
  })
})

test('a company that was warned shows why, and nothing of a hostile name runs', async () => {
  const name = `<img src="http://outside.test/name.png" onerror="document.title='ran'"> ${'long '.repeat(4)}`
  // With figures as bad as the warning says, so that housekeeping does not end it meanwhile.
  await gateway.db.pool.query(
    `with warned as (
       insert into companies (company_id, name, warned_at, warn_reason) values (gen_random_uuid(), $1, now(), 'Bounces: 6.0 % of 500')
       returning company_id)
     insert into statistics (company_id, step, at, reputation_sent, reputation_bounced)
     select company_id, 'hour', date_trunc('hour', now()), 500, 30 from warned`,
    [name],
  )
  const { page, requests, complaints } = await ui.openView('/companies', { theme: 'dark', width: 390 })
  await page.getByText(/Bounces: 6\.0 % of 500/).waitFor()
  await screenshot(page, 'companies-390-dark')
  expect(await scrollsSideways(page)).toBe(false)
  expect(await page.title()).toBe('Companies · Email Gateway')
  expect(requests.filter(url => !url.startsWith(gateway.url))).toEqual([])
  expect(complaints).toEqual([])
})

test('companies, every tab of one, its template and its webhook look as they should', async () => {
  const view = await ui.openView('/companies', { language: 'pt' })
  const { page } = view
  const [company] = await rows(gateway, `select company_id as id from companies where name like 'Padaria%'`)
  const [template] = await rows(gateway, 'select template_id as id from templates where company_id = $1', [company.id])
  const [webhook] = await rows(gateway, 'select endpoint_id as id from webhook_endpoints')
  await expectSound(view, 'companies')
  await page.goto(`${gateway.url}/admin/companies/${company.id}`)
  for (const [index, tab] of COMPANY_TABS.entries()) {
    await page.getByRole('tab').nth(index).click()
    await page.waitForURL(`**/companies/${company.id}/${tab}`)
    await page.getByRole('tab', { selected: true }).and(page.getByRole('tab').nth(index)).waitFor()
    await ready(page)
    await expectSound(view, `company-${tab}`)
  }
  for (const path of ['templates', `templates/${template.id}`, 'webhooks', `webhooks/${webhook.id}`]) {
    await page.goto(`${gateway.url}/admin/${path}`)
    await ready(page)
    await expectSound(view, path.replaceAll('/', '-'))
  }
})
