import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { hashPassword, putAdministrator } from '../../src/admins/administrators.ts'
import { makeDead } from '../support/dead.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../support/gateway.ts'
import { ADMINISTRATOR, ready, screenshot, startUi, type Ui } from './ui.ts'

/** What every view keeps to: no work is lost, the place stays, and each step says what it did. */
let gateway: TestGateway
let ui: Ui
let acme: TestCompany

beforeAll(async () => {
  gateway = await startTestGateway()
  acme = await gateway.company({ name: 'acme' })
  await makeDead(gateway.db.pool, acme.companyId, 60, { code: 'SES_THROTTLED', reason: 'Too many.' })
  ui = await startUi(gateway)
})
afterEach(() => ui.closeViews())
afterAll(async () => {
  await ui?.stop()
  await gateway?.stop()
})

test('an editor with unsaved changes asks before it is left, and what was typed outlives a session that ends', async () => {
  const { page } = await ui.openView(`/companies/${acme.companyId}/templates`)
  await page.getByRole('button', { name: 'New template' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Type').fill('order_sent')
  await dialog.getByLabel('Subject').fill('Order')
  await dialog.getByRole('button', { name: 'Create the draft' }).click()
  const subject = page.getByRole('textbox', { name: 'Subject' })
  await page.waitForURL(/\/admin\/templates\//)
  await dialog.waitFor({ state: 'detached' })
  await subject.fill('Order of today')
  const place = page.url()
  await page.getByRole('link', { name: 'Companies' }).click()
  await page.getByRole('dialog', { name: 'Leave without saving?' }).waitFor()
  await screenshot(page, 'leave-without-saving')
  await dialog.getByRole('button', { name: 'Keep editing' }).click()
  expect([page.url(), await subject.inputValue()]).toEqual([place, 'Order of today'])

  const cookies = await page.context().cookies()
  await page.context().clearCookies()
  // An answer of the gateway says that the session is gone.
  await page.getByRole('textbox', { name: 'HTML' }).fill('<p>new</p>')
  await page.getByText('Your session has ended.').waitFor()
  await page.context().addCookies(cookies)
  await page.goBack()
  await subject.waitFor()
  expect(await subject.inputValue()).toBe('Order of today')

  await page.goBack()
  await dialog.getByRole('button', { name: 'Leave' }).click()
  await page.waitForURL(url => url.href !== place)
  await page.goto(place)
  expect(await subject.inputValue()).toBe('Order')
})

test('a list stays where it is while the details of a row are opened and closed', async () => {
  const { page } = await ui.openView('/dead-letters?code=SES_THROTTLED')
  const scrolled = () => page.evaluate<number>('Math.round(scrollY)')
  const row = page.getByRole('row').nth(45)
  await row.scrollIntoViewIfNeeded()
  const before = await scrolled()
  expect(before).toBeGreaterThan(500)
  await row.getByRole('link').first().click()
  await page.getByRole('dialog').getByText('Attempt 5').waitFor()
  expect(await scrolled()).toBe(before)
  await page.keyboard.press('Escape')
  await page.waitForURL(url => !url.search.includes('open'))
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  expect(await scrolled()).toBe(before)
})

test('a view whose script cannot be fetched says that the gateway is away, once, and opens by itself when it is back', async () => {
  const { page } = await ui.openView('/suppression', { browser: 'two' })
  await page.context().setOffline(true)
  await page.getByRole('link', { name: 'Providers' }).click()
  await page.getByRole('alert').getByText('The gateway does not answer.').waitFor()
  await page.getByText(/The gateway has not answered since \d\d:\d\d/).waitFor()
  expect(await page.getByText(/The gateway has not answered since/).count()).toBe(1)
  await screenshot(page, 'script-missing')
  await page.context().setOffline(false)
  await page.getByRole('heading', { name: 'Providers' }).waitFor()
})

test('a session that is revoked leaves the screen at once, without a click', async () => {
  const { page } = await ui.openView('/companies', { browser: 'three' })
  await page.getByText('Live', { exact: true }).waitFor()
  const session = await page.context().request.post(`${gateway.url}/admin/session`, {
    headers: { accept: 'application/json' },
    data: ADMINISTRATOR,
  })
  expect(session.ok()).toBe(true)
  await page.reload()
  await page.getByText('Live', { exact: true }).waitFor()
  const started = Date.now()
  await gateway.db.pool.query(
    'delete from admin_sessions where signed_in_at = (select max(signed_in_at) from admin_sessions)',
  )
  await page.getByText('Your session has ended.').waitFor()
  expect(Date.now() - started).toBeLessThan(5_000)
})

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000)

test('an e-mail is not rescheduled into the past; a cancelled one says who and why, and the focus stays in the page', async () => {
  const scheduledAt = inDays(2).toISOString()
  const body = { to: 'maria@example.com', subject: 'Later', text: 'Hi', scheduledAt }
  const { outboxId } = (await gateway.call(acme, 'POST', '/v1/email/send', body)).body
  const { page } = await ui.openView(`/emails/${outboxId}`, { language: 'pt' })
  await page.getByRole('tab', { name: 'Cabeçalhos' }).click()
  await page.waitForURL('**?tab=headers')
  await page.getByRole('button', { name: 'Reagendar' }).click()
  const dialog = page.getByRole('dialog')
  const confirm = dialog.getByRole('button', { name: 'Reagendar' })
  await dialog.getByLabel(/Novo horário/).fill('2026-01-01T10:00')
  await dialog.getByText('Este horário já passou. Escolha um mais tarde.').waitFor()
  expect(await confirm.isDisabled()).toBe(true)
  await screenshot(page, 'reschedule-past')
  await dialog.getByLabel(/Novo horário/).fill(inDays(40).toISOString().slice(0, 16))
  await dialog.getByText('No máximo 30 dias à frente.').waitFor()
  await dialog.getByLabel(/Novo horário/).fill(inDays(3).toISOString().slice(0, 16))
  await confirm.click()
  await page.getByText(/O e-mail foi agendado para/).waitFor()

  await page.getByText('Ainda não houve tentativa.').waitFor()
  await page.getByRole('button', { name: 'Cancelar envio' }).click()
  await dialog.getByLabel('Motivo').fill('Valor errado')
  await dialog.getByRole('button', { name: 'Cancelar este e-mail' }).click()
  await page.getByText('Motivo: “Valor errado”').waitFor()
  await page.getByText('pelo administrador admin').waitFor()
  await page.getByText('Não houve nenhuma tentativa.').waitFor()
  await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('content')
  await screenshot(page, 'cancelled')
  await page.getByRole('link', { name: 'Registro na auditoria' }).click()
  await page.getByRole('dialog').getByText('Valor errado').waitFor()
})

test('a resend that would be refused cannot be asked for', async () => {
  const body = { to: 'bounce@simulator.test', subject: 'Again', text: 'Hi' }
  const { outboxId } = (await gateway.call(acme, 'POST', '/v1/email/send', body)).body
  await until(
    () => gateway.call(acme, 'GET', `/v1/email/${outboxId}`),
    answer => answer.body.status === 'BOUNCED',
  )
  const { page } = await ui.openView(`/emails/${outboxId}`)
  await page.getByText('Permanent / General').waitFor()
  await page.getByRole('button', { name: 'Resend' }).click()
  await page.getByText('It will be refused: the recipient is on the suppression list.').waitFor()
  expect(await page.getByRole('dialog').getByRole('button', { name: 'Resend' }).isDisabled()).toBe(true)
})

test('Tab leaves an open list for the next control', async () => {
  const { page } = await ui.openView('/emails')
  await page.getByPlaceholder('Status', { exact: false }).click()
  await page.getByRole('option', { name: 'Dead letter' }).waitFor()
  const follows = await page.evaluate<boolean>(`(() => {
    globalThis.left = document.activeElement
    return globalThis.left.tagName === 'INPUT'
  })()`)
  expect(follows).toBe(true)
  await page.keyboard.press('Tab')
  await page.getByRole('option', { name: 'Dead letter' }).waitFor({ state: 'hidden' })
  expect(
    await page.evaluate(
      `document.activeElement !== globalThis.left && document.activeElement.closest('[role=search]') !== null`,
    ),
  ).toBe(true)
})

test('the search box follows the link', async () => {
  const { page } = await ui.openView('/emails?externalId=order-1')
  const box = page.getByRole('textbox', { name: 'Search e-mails' })
  expect(await box.inputValue()).toBe('order-1')
  await page.getByRole('link', { name: 'E-mails', exact: true }).click()
  await expect.poll(() => box.inputValue()).toBe('')
  await page.goBack()
  await expect.poll(() => box.inputValue()).toBe('order-1')
})

test('the link back from an e-mail leads to the list as it was', async () => {
  const body = { to: 'maria@example.com', subject: 'Come back', text: 'Hi', tags: ['way-back'] }
  await gateway.call(acme, 'POST', '/v1/email/send', body)
  const { page } = await ui.openView('/emails?tag=way-back&mode=live')
  const list = page.url()
  await page.getByRole('link', { name: 'Come back' }).click()
  await page.waitForURL(/\/admin\/emails\/[0-9a-f-]{36}/)
  await page.getByRole('main').getByRole('link', { name: 'E-mails', exact: true }).click()
  await page.waitForURL(list)
  // Opened by a link of its own, it knows of no search.
  await page.getByRole('link', { name: 'Come back' }).click()
  await page.reload()
  await page.getByRole('main').getByRole('link', { name: 'E-mails', exact: true }).click()
  await page.waitForURL(`${gateway.url}/admin/emails`)
})

test('a typed confirmation takes capitals and spaces for what they are', async () => {
  const { page } = await ui.openView('/dead-letters?code=SES_THROTTLED', { language: 'pt' })
  await page.getByRole('checkbox', { name: 'Selecionar esta linha' }).first().check()
  await page.getByRole('region', { name: '1 selecionado' }).getByRole('button', { name: 'Excluir' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Motivo').fill('Teste')
  const button = dialog.getByRole('button', { name: 'Excluir' })
  await dialog.getByLabel('Digite excluir para confirmar').fill('exclui')
  expect(await button.isDisabled()).toBe(true)
  await dialog.getByLabel('Digite excluir para confirmar').fill('Excluir ')
  expect(await button.isDisabled()).toBe(false)
})

test('a replay of all names the code and the company, and leaves nothing selected', async () => {
  const { page } = await ui.openView(`/dead-letters?code=SES_THROTTLED&company=${acme.companyId}`)
  await page.getByRole('checkbox', { name: 'Select this row' }).first().check()
  await page.getByRole('region', { name: '1 selected' }).waitFor()
  await page.getByRole('button', { name: 'Replay all of these' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('SES_THROTTLED · acme').waitFor()
  await dialog.getByRole('textbox', { name: 'Reason' }).fill('SES is up again')
  await screenshot(page, 'replay-all-dialog')
  await dialog.getByRole('button', { name: 'Replay' }).click()
  await page.getByText('60 of 60').waitFor()
  await page.getByText('No dead letter matches these filters').waitFor()
  expect(await page.getByText('selected').count()).toBe(0)
})

test('Previous of a page that was opened by a link leads to the page before, not out of the application', async () => {
  for (let index = 0; index < 60; index++)
    await gateway.db.pool.query(
      `insert into audit_log (action, subject_type, subject_id, company_id, performed_by) values ('PAUSED', 'company', $1::uuid::text, $1, 'ana')`,
      [acme.companyId],
    )
  const first = await ui.openView(`/companies/${acme.companyId}/audit`)
  await first.page.getByRole('button', { name: 'Next' }).click()
  await first.page.waitForURL(/cursors=/)
  const { page } = await ui.openView(first.page.url().split('/admin')[1]!)
  await page.getByRole('button', { name: 'Previous' }).click()
  await page.waitForURL(url => url.pathname.endsWith('/audit') && url.search === '')
  // The keyboard moves the focus with the mark.
  await page.locator('h1').click()
  await page.keyboard.press('j')
  await expect.poll(() => page.evaluate('document.activeElement.tagName')).toBe('TR')
})

test('a variable that only the sample lacks is no fault of the template', async () => {
  const made = await gateway.db.pool.query('select template_id as id from templates where company_id = $1', [
    acme.companyId,
  ])
  const { page } = await ui.openView(`/templates/${made.rows[0].id}`)
  await page.getByRole('textbox', { name: 'Subject' }).fill('Order {{ number }}')
  await page.getByText('The sample variables lack').waitFor()
  expect(await page.getByText('It cannot be sent like this').count()).toBe(0)
  await screenshot(page, 'sample-lacks')
})

test('what the template engine refuses is said in Portuguese, with the place', async () => {
  const made = await gateway.db.pool.query('select template_id as id from templates where company_id = $1', [
    acme.companyId,
  ])
  const { page } = await ui.openView(`/templates/${made.rows[0].id}`, { language: 'pt' })
  const html = page.getByRole('textbox', { name: 'HTML' })
  for (const [written, words] of [
    ['<p>\n{% launch %}', 'HTML: linha 2, coluna 1: a tag launch não existe'],
    ['{{ name | shout }}', 'HTML: linha 1, coluna 1: o filtro shout não existe'],
    ['{% if name %}', 'HTML: linha 1, coluna 1: {% if name %} não foi fechado'],
    ['{{{ name }}}', 'HTML: linha 1, coluna 3: isto não é uma expressão válida (invalid value expression: "{ name")'],
    ['<script>x</script>', 'HTML: scripts não são permitidos (<script> is not allowed)'],
  ] as const) {
    await html.fill(written)
    await page.getByText(words, { exact: true }).waitFor()
  }
  await screenshot(page, 'template-refused-pt')
})

/** A field does not say how wide its placeholder is: it is measured as text. */
const CUT_FIELDS = `[...document.querySelectorAll('[role=search] input:not([type=hidden], [type=date], [type=radio])')].filter(field => {
  const { font, paddingLeft, paddingRight } = getComputedStyle(field)
  const pen = document.createElement('canvas').getContext('2d')
  pen.font = font
  const room = field.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight)
  return pen.measureText(field.value || field.placeholder).width > room
}).map(field => field.value || field.placeholder)`

test.each(['en', 'pt'] as const)('all filters of the e-mails fit on one line at 1280 px, in %s', async language => {
  const { page } = await ui.openView('/emails?status=RETRY_SCHEDULED&mode=test', { language })
  const lines = () =>
    page.evaluate<number[]>(`[...new Set([...document.querySelector('[role=search]').children]
      .map(one => one.getBoundingClientRect()).filter(({ height }) => height > 0).map(({ bottom }) => Math.round(bottom)))]`)
  await page.getByRole('button', { name: language === 'en' ? 'Clear filters' : 'Limpar filtros' }).waitFor()
  expect(await lines()).toHaveLength(1)
  // Chosen values and the words of empty fields are whole.
  expect(await page.evaluate(CUT_FIELDS)).toEqual([])
  await screenshot(page, `email-filters-${language}`)
})

test('the words of empty filters are whole on a phone, in Portuguese', async () => {
  const { page } = await ui.openView('/emails', { language: 'pt', width: 390 })
  for (const path of ['emails', 'suppression', 'audit', 'webhooks', 'dead-letters']) {
    await page.goto(`${gateway.url}/admin/${path}`)
    await ready(page)
    await page.getByRole('search').waitFor()
    expect(await page.evaluate(CUT_FIELDS), path).toEqual([])
  }
})

test('the menu has room for a count in Portuguese', async () => {
  const { page } = await ui.openView('/companies', { language: 'pt' })
  const isCut = (count: string, weight: number) =>
    page.evaluate<boolean>(`(() => {
      const text = [...document.querySelectorAll('nav a > span')].find(one => one.textContent === 'Não entregues')
      text.parentElement.style.fontWeight = ${weight}
      text.parentElement.querySelector('span + span')?.remove()
      const count = document.createElement('span')
      count.textContent = '${count}'
      count.style.cssText = 'margin-left:auto;white-space:nowrap;font-size:0.75rem;font-weight:400;padding:0 5px'
      text.after(count)
      return text.scrollWidth > text.clientWidth
    })()`)
  expect([await isCut('99,9 mil', 400), await isCut('1,6 mil', 600)]).toEqual([false, false])
  await screenshot(page, 'menu-pt')
})

test('a viewer sees no names beside masked addresses, and no inbox', async () => {
  const { pool } = gateway.db
  await putAdministrator(pool, 'vera', await hashPassword(ADMINISTRATOR.password), { role: 'viewer' })
  const body = { to: 'Rafael Ribeiro <rafael@example.org>', subject: 'Hello', text: 'Hi' }
  const { outboxId } = (await gateway.call(acme, 'POST', '/v1/email/send', body)).body
  const { page } = await ui.openView(`/emails/${outboxId}`, { signedIn: false })
  await page.getByLabel('Name').fill('vera')
  await page.getByRole('textbox', { name: 'Password' }).fill(ADMINISTRATOR.password)
  await page.keyboard.press('Enter')
  await page.getByText('r***@e***.org').first().waitFor()
  await ready(page)
  expect(await page.locator('body').innerText()).not.toMatch(/Rafael|Ribeiro/)
  await screenshot(page, 'email-of-a-viewer')
  expect(await page.getByRole('link', { name: 'Inbox' }).count()).toBe(0)
  await page.goto(`${gateway.url}/admin/inbox`)
  await page.getByRole('heading', { name: 'Viewers do not see the content of e-mails' }).waitFor()
})

test('the focus is in the dialog that shows a new API key, and not on what is behind it', async () => {
  const { page } = await ui.openView(`/companies/${acme.companyId}/keys`)
  await page.getByRole('button', { name: 'New API key' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('shop')
  await dialog.getByRole('button', { name: 'Create the key' }).click()
  await page.getByRole('dialog', { name: 'The new API key' }).waitFor()
  await dialog.and(page.getByRole('dialog', { name: 'New API key', exact: true })).waitFor({ state: 'detached' })
  // Longer than a dialog that closes takes to give the focus back.
  await page.waitForTimeout(400)
  for (let tabs = 0; tabs < 4; tabs++) {
    expect(await page.evaluate(IN_DIALOG)).toBe(true)
    await page.keyboard.press('Tab')
  }
  await dialog.getByRole('button', { name: 'I have copied it' }).click()
  await dialog.waitFor({ state: 'detached' })
})

const IN_DIALOG = "document.activeElement.closest('[role=dialog]') !== null"

test('a refusal is shown at the field that it is about, which has the focus; no number is changed silently', async () => {
  const { page } = await ui.openView('/companies')
  await page.getByRole('button', { name: 'New company' }).click()
  const dialog = page.getByRole('dialog')
  const name = dialog.getByLabel('Name')
  await name.fill('acme')
  await dialog.getByLabel('Weight').fill('500')
  await dialog.getByRole('button', { name: 'Create company' }).click()
  await dialog.getByText('must be at most 100, is 500').waitFor()
  const focused = () => page.evaluate('document.activeElement.labels?.[0]?.textContent')
  await expect.poll(focused).toBe('Weight')
  expect(await dialog.getByRole('alert').count()).toBe(0)
  await screenshot(page, 'refused-field')
  await dialog.getByLabel('Weight').fill('5')
  await dialog.getByRole('button', { name: 'Create company' }).click()
  await dialog.getByText('There is a company of this name already.').waitFor()
  await expect.poll(focused).toBe('Name')
  await page.keyboard.press('Tab')
  expect(await page.evaluate(IN_DIALOG)).toBe(true)
  await page.keyboard.press('Escape')

  await page.goto(`${gateway.url}/admin/companies/${acme.companyId}/domains`)
  await page.getByLabel('Weight').fill('500')
  await page.getByRole('button', { name: 'Save the changes' }).click()
  await page.getByText('must be at most 100, is 500').waitFor()
  const { body } = await gateway.call(null, 'GET', `/admin/companies/${acme.companyId}`, undefined, BASIC)
  expect(body.weight).toBe(1)
})

const BASIC = {
  authorization: `Basic ${Buffer.from(`${ADMINISTRATOR.name}:${ADMINISTRATOR.password}`).toString('base64')}`,
}

test('what does not exist is called so and not tried again; a range that ends before it begins is said', async () => {
  const { page } = await ui.openView('/emails/019a8f2e-3c10-7b1e-9a55-5a6c1d7e2f30')
  await page.getByRole('alert').getByText('Not found').waitFor()
  expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0)
  await page.getByRole('link', { name: 'To the overview' }).waitFor()
  await page.goto(`${gateway.url}/admin/audit?from=2026-11-18&to=2026-11-17`)
  await page.getByText('Is after the end').waitFor()
})

test('Escape closes the navigation of a phone', async () => {
  const { page } = await ui.openView('/companies', { width: 390 })
  await page.getByRole('button', { name: 'Open the menu' }).click()
  await page.getByRole('button', { name: 'Close the menu' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Open the menu' }).waitFor()
})
