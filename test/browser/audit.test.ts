import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { makeSignInLink } from '../../src/admins/sessions.ts'
import { writeAudit } from '../../src/audit/audit.ts'
import { hashEmail } from '../../src/platform/text/hashing.ts'
import { addSuppressions } from '../../src/suppression/list.ts'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'
import { rows } from '../support/mail.ts'
import { ADMINISTRATOR, axeViolations, expectSound, ready, screenshot, startUi, type Ui } from './ui.ts'

const EVIL = '<img src=x onerror="document.title = 1">'
const LONG = 'AVeryLongNameWithoutAnySpace'.repeat(4)

let gateway: TestGateway
let ui: Ui

beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api' })
  const { companyId } = await gateway.company({ name: 'acme' })
  const { pool } = gateway.db
  const change = { subjectType: 'company', subjectId: companyId, companyId, action: 'COMPANY_CHANGED' } as const
  for (let n = 0; n < 60; n++) {
    const [before, after] = [
      { weight: n, name: 'acme' },
      { weight: n + 1, name: 'acme' },
    ]
    await writeAudit(pool, { ...change, performedBy: 'cli:root', before, after, reason: `Step ${n}` })
  }
  await addSuppressions(pool, [
    {
      companyId: null,
      emailHash: hashEmail('maria@example.com'),
      reason: 'MANUAL',
      expiresInDays: 30,
      metadata: {},
      performedBy: 'ana',
      justification: 'Asked by phone for no more mail',
    },
    {
      companyId: null,
      emailHash: hashEmail('gone@example.com'),
      reason: 'HARD_BOUNCE',
      expiresInDays: 30,
      metadata: {},
      performedBy: 'system',
    },
  ])
  const before = { fromDomains: ['old.example'], defaultFrom: EVIL, weight: 1 }
  const after = { fromDomains: ['new.example', `${LONG}.example`], defaultFrom: null, weight: 1 }
  await writeAudit(pool, { ...change, performedBy: LONG.slice(0, 100), before, after, reason: `${EVIL} ${LONG}` })
  ui = await startUi(gateway)
})
afterEach(() => ui.closeViews())
afterAll(async () => {
  await ui?.stop()
  await gateway?.stop()
})

test('the list, one entry of it and the sessions look as they should', async () => {
  const view = await ui.openView('/audit', { language: 'pt' })
  const { page } = view
  const row = page.getByRole('row').filter({ hasText: EVIL })
  await row.waitFor()
  await expectSound(view, 'audit')
  await row.getByText(EVIL).click()
  await page.getByRole('dialog').getByRole('table').waitFor()
  expect(await page.getByRole('dialog').locator('del').allTextContents()).toEqual([EVIL, 'old.example'])
  await expectSound(view, 'audit-entry')
  await page.goto(`${gateway.url}/admin/sessions`)
  await page
    .getByText(/Chrome \d+/)
    .first()
    .waitFor()
  await expectSound(view, 'sessions')
})

test('what the gateway did by itself, and a page that is no more, are said in the language of the reader', async () => {
  const { page } = await ui.openView('/audit?actor=any&subjectType=suppression', { language: 'pt' })
  await page.getByRole('cell', { name: 'O gateway' }).waitFor()
  expect(await page.getByText('system', { exact: true }).count()).toBe(0)
  await page.goto(`${gateway.url}/admin/audit?olderThan=gone`)
  await page.getByText('Página da lista: não é mais uma página desta lista; recomece pela primeira').waitFor()
})

test('a delivery that was replayed: a very long URL is cut and can be read, and the old answer is called so', async () => {
  const [company] = await rows(gateway, `select company_id as id from companies where name = 'acme'`)
  const [endpoint, delivery] = [randomUUID(), randomUUID()]
  await gateway.db.pool.query(
    `with e as (
       insert into webhook_endpoints (endpoint_id, company_id, url, event_types, secret_cipher)
       values ($1, $3, $4, '{email.sent}', '\\x00')
     )
     insert into webhook_deliveries (endpoint_id, delivery_id, company_id, type, data, status, attempts, last_attempt_at, last_status, last_answer)
     values ($1, $2, $3, 'webhook.test', '{}', 'failed', 8, now(), 500, 'out of order')`,
    [endpoint, delivery, company.id, `https://hooks.example/${'very-long-path/'.repeat(66)}`],
  )
  const view = await ui.openView(`/webhooks/${endpoint}?delivery=${delivery}`, { width: 390 })
  const { page } = view
  const drawer = page.getByRole('dialog')
  const url = drawer.getByText(/^POST https:/)
  await drawer.getByRole('button', { name: 'Show all of it' }).waitFor()
  const shown = () => url.evaluate(text => text.parentElement!.parentElement!.clientHeight)
  expect(await shown()).toBeLessThan(100)
  await screenshot(page, 'delivery-long-url')
  expect(await axeViolations(page)).toEqual([])
  await drawer.getByRole('button', { name: 'Show all of it' }).click()
  await expect.poll(shown).toBeGreaterThan(300)
  await drawer.getByRole('button', { name: 'Show less' }).waitFor()

  await drawer.getByText('500', { exact: true }).waitFor()
  await drawer.getByRole('button', { name: 'Replay' }).click()
  await drawer.getByText('no answer yet').waitFor()
  await drawer.getByRole('heading', { name: 'Last answer before the replay' }).waitFor()
  expect(await drawer.getByText('500', { exact: true }).count()).toBe(0)
})

test('the dialogs of the suppression list begin with their first field', async () => {
  const { page } = await ui.openView('/suppression')
  const focused = () => page.evaluate<string>('document.activeElement.closest(".mantine-InputWrapper-root")?.innerText')
  await page.getByRole('button', { name: 'Import CSV' }).click()
  await expect.poll(focused).toMatch(/^CSV file/)
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Add an address' }).click()
  await expect.poll(focused).toMatch(/^Address/)
})

test('filters and pages are in the URL, and a reload keeps the place', async () => {
  const { page } = await ui.openView('/audit?action=COMPANY_CHANGED')
  await page.getByRole('button', { name: 'Next' }).click()
  await page.waitForURL(/olderThan=/)
  await page.getByText('Step 0', { exact: true }).waitFor()
  await page.reload()
  await page.getByText('Step 0', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Previous' }).click()
  await page.getByText('Step 59', { exact: true }).waitFor()
  await page.getByLabel('Who, e.g. cli:root').fill('ana')
  await page.getByRole('button', { name: 'Clear filters' }).waitFor()
  await page.waitForURL(/performedBy=ana/)
  await page.getByText('No entry matches these filters.').waitFor()
  // An entry that is on no page of this list is shown, too.
  const [first] = await rows(gateway, `select id from audit_log where reason = 'Step 0'`)
  await page.goto(`${gateway.url}/admin/audit?performedBy=ana&open=a${first!.id}`)
  await page.getByText('Asked by phone for no more mail').waitFor()
  await page.getByRole('dialog').getByText('Step 0', { exact: true }).waitFor()
  await page.goto(`${gateway.url}/admin/audit?subjectType=suppression`)
  await page.getByText('Asked by phone for no more mail').waitFor()
  expect(await page.getByRole('cell', { name: 'The gateway' }).count()).toBe(0)
  await page.getByText('Everything', { exact: true }).click()
  await page.getByRole('cell', { name: 'The gateway' }).waitFor()
  await page.goto(`${gateway.url}/admin/audit`)
  await page.getByLabel('Id or address').fill('Maria@example.com')
  await page.waitForURL(/subjectId=sha256/)
  await expect.poll(() => page.getByRole('row').count()).toBe(2)
  await page.getByText('Asked by phone for no more mail').waitFor()
  await page.getByRole('button', { name: 'Export' }).click()
  const download = page.waitForEvent('download')
  await page.getByRole('menuitem', { name: /CSV/ }).click()
  expect((await download).suggestedFilename()).toBe('audit-log.csv')
})

test('a link signs in once, and another session is ended from the list', async () => {
  const token = await makeSignInLink(gateway.db.pool, ADMINISTRATOR.name, 'cli:test')
  const { page } = await ui.openView(`/sign-in#token=${token}`, { signedIn: false })
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  expect(page.url()).toBe(`${gateway.url}/admin/`)
  const again = await ui.openView(`/sign-in#token=${token}`, { signedIn: false, browser: 'another' })
  await again.page.getByText('This link was used already or has expired.', { exact: false }).waitFor()
  expect(again.page.url()).not.toContain('token')
  await screenshot(again.page, 'sign-in-link-used')
  await again.page.getByLabel('Name').fill(ADMINISTRATOR.name)
  await again.page.getByLabel('Password', { exact: true }).fill(ADMINISTRATOR.password)
  await again.page.getByRole('button', { name: 'Sign in' }).click()
  await again.page.getByRole('heading', { name: 'Overview' }).waitFor()

  await page.goto(`${gateway.url}/admin/sessions`)
  await ready(page)
  for (let left = await page.getByRole('button', { name: 'End session' }).count(); left > 0; left--) {
    await page.getByRole('button', { name: 'End session' }).first().click()
    await page.getByRole('dialog').getByRole('button', { name: 'End session' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  }
  await again.page.reload()
  await again.page.getByLabel('Password', { exact: true }).waitFor()
})

test('too many wrong passwords: the page says how long to wait', async () => {
  const { page } = await ui.openView('/sign-in', { signedIn: false })
  await page.getByLabel('Name').fill('guess')
  await page.getByLabel('Password', { exact: true }).fill('wrong')
  // Each failure doubles the wait, so that one of the next clicks comes within it, however slow the machine is.
  for (let status = 0; status !== 429; ) {
    const answered = page.waitForResponse(answer => answer.request().method() === 'POST')
    await page.getByRole('button', { name: 'Sign in' }).click()
    status = (await answered).status()
  }
  await page.getByText(/Too many attempts. Try again in \d+ second/).waitFor()
  await screenshot(page, 'sign-in-throttled')
  expect(await axeViolations(page)).toEqual([])
})
