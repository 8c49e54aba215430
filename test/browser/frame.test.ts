import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startTestGateway, type TestCompany, type TestGateway } from '../support/gateway.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { type PostgresProxy, startPostgresProxy } from '../support/postgres-proxy.ts'
import { ADMINISTRATOR, axeViolations, expectSound, ready, screenshot, startUi, type Ui } from './ui.ts'

const MAX_FIRST_LOAD_BYTES = 350 * 1024

let database: Awaited<ReturnType<typeof createTestDatabase>>
let proxy: PostgresProxy
let gateway: TestGateway
let ui: Ui
let paused: TestCompany

beforeAll(async () => {
  database = await createTestDatabase()
  proxy = await startPostgresProxy(database.url)
  gateway = await startTestGateway({ env: { DATABASE_URL: proxy.url } })
  paused = await gateway.company({ name: 'acme' })
  await fillStatistics(paused.companyId)
  ui = await startUi(gateway)
})
afterEach(async () => {
  proxy.restore()
  await ui.closeViews()
})
afterAll(async () => {
  await ui?.stop()
  await gateway?.stop()
  await proxy?.close()
  await database?.drop()
})

/** Figures of this hour; it is paused, and the ledger has found a loss. */
async function fillStatistics(companyId: string): Promise<void> {
  const { pool } = gateway.db
  await pool.query(
    `insert into statistics (company_id, step, at, accepted, sent, delivered, bounced, complained, failed)
     values ($1, 'hour', date_trunc('hour', now()), 1210, 1200, 1150, 40, 2, 10)`,
    [companyId],
  )
  await pool.query(
    `update companies set paused_at = now(), pause_reason = 'Bounces: 6.0 % of 500', paused_by = 'ana' where company_id = $1`,
    [companyId],
  )
  await pool.query(
    `insert into ledger (day, company_id, accepted, ended, waiting, unknown, settled, imbalanced_since) values ('2026-01-05', $1, 8, 5, 0, 0, 8, now())`,
    [companyId],
  )
}

test('the frame, its menus, the palette and an address that leads nowhere look as they should', async () => {
  const view = await ui.openView('/companies', { language: 'pt' })
  const { page } = view
  await page.getByRole('link', { name: 'acme' }).waitFor()
  await page.getByRole('button', { name: ADMINISTRATOR.name }).click()
  await page.getByRole('menuitem', { name: 'Sair' }).waitFor()
  expect.soft(await axeViolations(page)).toEqual([])
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').fill('acm')
  await page.getByRole('option', { name: 'Empresa acme' }).waitFor()
  await expectSound(view, 'palette')
  await page.keyboard.press('Escape')
  await page.setViewportSize({ width: 390, height: 844 })
  await page.getByRole('button', { name: 'Abrir o menu' }).click()
  await page.getByRole('link', { name: 'Webhooks' }).click()
  await page.getByRole('heading', { name: 'Webhooks' }).waitFor()
  expect(page.url()).toBe(`${gateway.url}/admin/webhooks`)
  await page.setViewportSize({ width: 1280, height: 900 })
  await page.goto(`${gateway.url}/admin/nothing/here`)
  await page.getByRole('heading', { name: 'Não encontrado' }).waitFor()
  await expectSound(view, 'not-found')
  expect(view.requests.filter(url => !url.startsWith(gateway.url))).toEqual([])
})

test('signing in leads to the place that was asked for', async () => {
  const view = await ui.openView('/?range=7d', { signedIn: false })
  const { page } = view
  expect(new URL(page.url()).pathname).toBe('/admin/sign-in')
  // The session that is asked for is not there, and Chromium says so.
  await expectSound({ ...view, complaints: [] }, 'sign-in')
  await page.getByLabel('Name').fill(ADMINISTRATOR.name)
  await page.getByRole('textbox', { name: 'Password' }).fill('guessed')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').getByText('The name or the password is not right.').waitFor()
  await page.getByRole('textbox', { name: 'Password' }).fill(ADMINISTRATOR.password)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  expect(page.url()).toBe(`${gateway.url}/admin/?range=7d`)

  await page.getByRole('button', { name: ADMINISTRATOR.name }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByLabel('Name').waitFor()
  await page.goto(`${gateway.url}/admin/companies`)
  await page.getByLabel('Name').waitFor()
})

test('a session that ends asks to sign in again by itself and keeps the place', async () => {
  const { page } = await ui.openView('/companies')
  await page.context().clearCookies()
  await page.getByText('Your session has ended.').waitFor()
  await page.getByLabel('Name').fill(ADMINISTRATOR.name)
  await page.getByRole('textbox', { name: 'Password' }).fill(ADMINISTRATOR.password)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Companies' }).waitFor()
})

test('a sign-in link leads to no other site', async () => {
  const { page } = await ui.openView('/sign-in?to=//evil.example/', { signedIn: false })
  await page.getByLabel('Name').fill(ADMINISTRATOR.name)
  await page.getByRole('textbox', { name: 'Password' }).fill(ADMINISTRATOR.password)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  expect(new URL(page.url()).origin).toBe(gateway.url)
})

test('language, theme and keyboard: the palette finds a company, the choice is kept', async () => {
  const { page } = await ui.openView('/companies')
  await page.keyboard.press('Tab')
  await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Skip to the content')
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').fill('acm')
  await page.getByRole('option', { name: 'Company acme' }).waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/admin\/companies\/[0-9a-f-]{36}/)
  await page.getByRole('button', { name: 'PT: Mudar para português' }).click()
  await page.getByRole('link', { name: 'Visão geral' }).waitFor()
  await page.getByRole('button', { name: 'Mudar para o tema escuro' }).click()
  await page.reload()
  await ready(page)
  expect(await page.locator('html').getAttribute('lang')).toBe('pt-BR')
  expect(await page.locator('html').getAttribute('data-mantine-color-scheme')).toBe('dark')
  // Views of other tests share the storage.
  await page.evaluate('localStorage.clear()')
})

test('with Postgres away the view says since when, keeps its data, and recovers by itself', async () => {
  const { page } = await ui.openView('/companies')
  await page.getByRole('link', { name: 'acme' }).waitFor()
  await page.getByText('Live', { exact: true }).waitFor()
  proxy.cut()
  await page.getByText(/The database of the gateway has not answered since \d\d:\d\d/).waitFor()
  await page.getByText('Not live', { exact: true }).waitFor()
  await screenshot(page, 'postgres-away')
  expect.soft(await axeViolations(page)).toEqual([])
  expect(await page.getByRole('link', { name: 'acme' }).isVisible()).toBe(true)
  proxy.restore()
  await page.getByText(/has not answered since/).waitFor({ state: 'detached' })
  await page.getByText('Live', { exact: true }).waitFor()
  expect(await page.getByRole('link', { name: 'acme' }).isVisible()).toBe(true)
})

test('a view asks once for its live figures every two seconds, and not while its tab is hidden', async () => {
  const { page, requests } = await ui.openView('')
  const polls = () => requests.filter(url => url.endsWith('/admin/live')).length
  const show = (state: 'hidden' | 'visible') =>
    page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true })
      Object.defineProperty(document, 'hidden', { value: ${state === 'hidden'}, configurable: true })
      document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))`)
  await page.waitForTimeout(5_000)
  expect(polls()).toBeGreaterThanOrEqual(2)
  expect(polls()).toBeLessThanOrEqual(4)
  await show('hidden')
  const before = polls()
  await page.waitForTimeout(5_000)
  expect(polls()).toBe(before)
  await show('visible')
  await expect.poll(polls, { timeout: 1_500 }).toBe(before + 1)
})

test('the overview shows figures, a chart and what needs attention', async () => {
  const view = await ui.openView('', { language: 'pt' })
  const { page } = view
  await page.getByText('1.150 de 1.190 destinatários com retorno').waitFor()
  await page.locator('polyline').filter({ visible: true }).first().waitFor()
  await page.getByText('Tracejado: ainda não terminou, os números vão crescer').waitFor()
  await expectSound(view, 'overview')
  await page.getByRole('button', { name: 'Mostrar como tabela' }).click()
  await page.getByRole('cell', { name: '1.200' }).first().waitFor()
  expect(await page.getByRole('cell', { name: /Ainda não terminou$/ }).count()).toBeGreaterThan(0)
  await expectSound(view, 'overview-table')
  const review = page.getByRole('link', { name: 'Ver', exact: true })
  await page.getByText('3 e-mails aceitos sumiram').waitFor()
  await review.first().click()
  await page.getByText('acme: 3 de 8 e-mails aceitos sumiram').waitFor()
  await expectSound(view, 'ledger')
  await page.getByRole('button', { name: 'Reconhecer' }).click()
  await page.getByLabel('Motivo').fill('Apagados em um teste')
  const dialog = page.getByRole('dialog', { name: /5 de jan\. de 2026/ })
  await dialog.getByRole('button', { name: 'Reconhecer' }).click()
  await page.getByText('Apagados em um teste').waitFor()
  await dialog.waitFor({ state: 'hidden' })
  await page.keyboard.press('Escape')
  await review.last().click()
  await page.waitForURL(`**/admin/companies/${paused.companyId}**`)
})

test('the overview says what a paused company and a due probe wait for, and heads days as days', async () => {
  const { pool } = gateway.db
  await gateway.call(paused, 'POST', '/v1/email/send', { to: 'maria@example.com', subject: 'Hi', text: 'Hi' })
  await pool.query(
    `insert into providers (name, state, opened_at, reason_code, reason, probe_at)
     values ('capture', 'open', now() - interval '1 hour', 'DOWN', 'Down', now() - interval '7 minutes')
     on conflict (name) do update set state = 'open', opened_at = excluded.opened_at, reason_code = 'DOWN', probe_at = excluded.probe_at`,
  )
  const { page } = await ui.openView('/?range=30d', { language: 'pt' })
  await page.getByText('nenhum e-mail que possa ser enviado').waitFor()
  await page.getByText('próximo teste com o próximo e-mail').waitFor()
  await page.getByRole('button', { name: 'Mostrar como tabela' }).click()
  await page.getByRole('columnheader', { name: 'Dia', exact: true }).waitFor()
  await pool.query(`update providers set state = 'closed', opened_at = null, reason_code = null, probe_at = null`)
})

test('the first load needs less than 350 KB of compressed script', async () => {
  const { page } = await ui.openView('', { theme: 'dark' })
  await page.waitForLoadState('networkidle')
  const sizes = await page.evaluate<Record<string, number>>(
    `Object.fromEntries(performance.getEntriesByType('resource').filter(one => /\\.js$/.test(one.name)).map(one => [one.name, one.encodedBodySize]))`,
  )
  const bytes = Object.values(sizes).reduce((sum, size) => sum + size, 0)
  console.info(`First load: ${Math.round(bytes / 1024)} KB of compressed script in ${Object.keys(sizes).length} files`)
  expect(bytes).toBeGreaterThan(100 * 1024)
  expect(bytes).toBeLessThan(MAX_FIRST_LOAD_BYTES)
})
