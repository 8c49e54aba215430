import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startTestGateway, type TestCompany, type TestGateway } from '../support/gateway.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { type PostgresProxy, startPostgresProxy } from '../support/postgres-proxy.ts'
import { ADMINISTRATOR, axeViolations, ready, screenshot, scrollsSideways, startUi, type Ui, type View } from './ui.ts'

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

/** Figures of this hour; and it is paused. */
async function fillStatistics(companyId: string): Promise<void> {
  const { pool } = gateway.db
  await pool.query(
    `insert into company_statistics (company_id, hour, accepted, sent, delivered, bounced, complained, failed)
     values ($1, date_trunc('hour', now()), 1210, 1200, 1150, 40, 2, 10)`,
    [companyId],
  )
  await pool.query(
    `update companies set paused_at = now(), pause_reason = 'Bounces: 6.0 % of 500', paused_by = 'ana' where company_id = $1`,
    [companyId],
  )
}

/** Nothing to scroll sideways to, nothing for axe-core, the policy and the console to complain about, and no other host asked. */
async function expectSound({ page, requests, complaints }: View): Promise<void> {
  expect.soft(await axeViolations(page)).toEqual([])
  expect.soft(await scrollsSideways(page)).toBe(false)
  expect.soft(requests.filter(url => !url.startsWith(gateway.url))).toEqual([])
  expect(complaints).toEqual([])
}

test.each([
  ['light', 'en', 1280],
  ['dark', 'pt', 1280],
  ['light', 'pt', 390],
  ['dark', 'en', 390],
] as const)(
  'the frame in %s, %s, %i px: nothing overflows, axe-core and the policy find nothing',
  async (...options) => {
    const [theme, language, width] = options
    const view = await ui.openView('/companies', { theme, language, width })
    await view.page.getByRole('link', { name: 'acme' }).waitFor()
    await screenshot(view.page, `frame-${options.join('-')}`)
    await expectSound(view)
    if (width !== 390) return
    await view.page.getByRole('button', { name: language === 'pt' ? 'Abrir o menu' : 'Open the menu' }).click()
    await view.page.getByRole('link', { name: 'Webhooks' }).click()
    await view.page.getByRole('heading', { name: 'Webhooks' }).waitFor()
    expect(view.page.url()).toBe(`${gateway.url}/admin/webhooks`)
  },
)

test.each(['light', 'dark'] as const)('signing in, in %s, leads to the place that was asked for', async theme => {
  const view = await ui.openView('/?range=7d', { theme, signedIn: false })
  const { page } = view
  expect(new URL(page.url()).pathname).toBe('/admin/sign-in')
  await screenshot(page, `sign-in-${theme}`)
  expect.soft(await axeViolations(page)).toEqual([])
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

test('a session that ends asks to sign in again and keeps the place', async () => {
  const { page } = await ui.openView('/companies')
  await page.context().clearCookies()
  await page.getByRole('link', { name: 'Overview' }).click()
  await page.getByText('Your session has ended.').waitFor()
  await page.getByLabel('Name').fill(ADMINISTRATOR.name)
  await page.getByRole('textbox', { name: 'Password' }).fill(ADMINISTRATOR.password)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
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
  const view = await ui.openView('/companies')
  const { page } = view
  await page.keyboard.press('Tab')
  await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Skip to the content')
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').fill('acm')
  await page.getByRole('option', { name: 'Company acme' }).waitFor()
  await screenshot(page, 'palette')
  await expectSound(view)
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/admin\/companies\/[0-9a-f-]{36}/)
  await page.getByRole('button', { name: 'PT: Mudar para português' }).click()
  await page.getByRole('link', { name: 'Visão geral' }).waitFor()
  await page.getByRole('button', { name: 'Mudar para o tema escuro' }).click()
  await page.reload()
  await ready(page)
  expect(await page.locator('html').getAttribute('lang')).toBe('pt-BR')
  expect(await page.locator('html').getAttribute('data-mantine-color-scheme')).toBe('dark')
})

test('with Postgres away the view says since when, keeps its data, and recovers by itself', async () => {
  const { page } = await ui.openView('/companies')
  await page.getByRole('link', { name: 'acme' }).waitFor()
  proxy.cut()
  await page.evaluate('document.dispatchEvent(new Event("visibilitychange"))')
  await page.getByText(/The database of the gateway has not answered since \d\d:\d\d/).waitFor()
  await screenshot(page, 'postgres-away')
  expect.soft(await axeViolations(page)).toEqual([])
  expect(await page.getByRole('link', { name: 'acme' }).isVisible()).toBe(true)
  proxy.restore()
  await page.getByText(/has not answered since/).waitFor({ state: 'detached' })
  expect(await page.getByRole('link', { name: 'acme' }).isVisible()).toBe(true)
})

test.each([
  ['light', 'en', 1280],
  ['dark', 'pt', 390],
] as const)('the overview in %s, %s, %i px shows figures, a chart and what needs attention', async (...options) => {
  const [theme, language, width] = options
  const view = await ui.openView('', { theme, language, width })
  const { page } = view
  await page.getByText(language === 'en' ? '1,150 of 1,200 sent' : '1.150 de 1.200 enviados').waitFor()
  await page.locator('polyline').first().waitFor()
  await screenshot(page, `overview-${options.join('-')}`)
  await expectSound(view)
  await page.getByRole('button', { name: language === 'en' ? 'Show as a table' : 'Mostrar como tabela' }).click()
  await page
    .getByRole('cell', { name: language === 'en' ? '1,200' : '1.200' })
    .first()
    .waitFor()
  await expectSound(view)
  await page
    .getByRole('link', { name: language === 'en' ? 'Review' : 'Ver', exact: true })
    .first()
    .click()
  await page.waitForURL(`**/admin/companies/${paused.companyId}**`)
})

test('the first load needs less than 350 KB of compressed script', async () => {
  const { page } = await ui.openView('')
  await page.waitForLoadState('networkidle')
  const sizes = await page.evaluate<Record<string, number>>(
    `Object.fromEntries(performance.getEntriesByType('resource').filter(one => /\\.js$/.test(one.name)).map(one => [one.name, one.encodedBodySize]))`,
  )
  const bytes = Object.values(sizes).reduce((sum, size) => sum + size, 0)
  console.info(`First load: ${Math.round(bytes / 1024)} KB of compressed script in ${Object.keys(sizes).length} files`)
  expect(bytes).toBeGreaterThan(100 * 1024)
  expect(bytes).toBeLessThan(MAX_FIRST_LOAD_BYTES)
})
