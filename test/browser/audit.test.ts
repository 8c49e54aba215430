import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { hashEmail } from '../../src/contracts/hashing.ts'
import { writeAudit } from '../../src/db/audit.ts'
import { makeSignInLink } from '../../src/db/companies/sign-in-links.ts'
import { addSuppressions } from '../../src/db/suppression/list.ts'
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
  expect(await page.getByRole('cell', { name: 'system' }).count()).toBe(0)
  await page.getByText('Everything', { exact: true }).click()
  await page.getByRole('cell', { name: 'system' }).waitFor()
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
