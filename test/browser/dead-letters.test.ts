import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { hashEmail } from '../../src/platform/text/hashing.ts'
import { addSuppressions } from '../../src/suppression/list.ts'
import { makeDead, replaysOf } from '../support/dead.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../support/gateway.ts'
import { rows } from '../support/mail.ts'
import { expectSound, ready, screenshot, startUi, type Ui } from './ui.ts'

const LONG =
  'A reason that a provider wrote at great length, and without a break at the end: '.repeat(4) + 'x'.repeat(200)

let gateway: TestGateway
let ui: Ui
let acme: TestCompany

beforeAll(async () => {
  gateway = await startTestGateway()
  acme = await gateway.company({ name: 'acme' })
  const other = await gateway.company({ name: `a-company-with-a-long-name-${'x'.repeat(40)}` })
  const { pool } = gateway.db
  await makeDead(pool, acme.companyId, 120, { code: 'SES_THROTTLED', reason: 'Maximum sending rate exceeded.' })
  await makeDead(pool, other.companyId, 3, { code: 'SMTP_MAILBOX_UNAVAILABLE', reason: LONG, status: 'REJECTED' })
  const entry = { companyId: null, expiresInDays: 90, metadata: { diagnosticCode: '550 5.1.1 unknown' } }
  await addSuppressions(pool, [
    { ...entry, emailHash: hashEmail('maria@example.com'), reason: 'HARD_BOUNCE', performedBy: 'system' },
    {
      ...entry,
      emailHash: hashEmail('joao@example.com'),
      reason: 'COMPLAINT',
      expiresInDays: 0,
      performedBy: 'system',
    },
    {
      ...entry,
      companyId: other.companyId,
      emailHash: hashEmail('ana@example.com'),
      reason: 'MANUAL',
      performedBy: 'ana',
    },
  ])
  ui = await startUi(gateway)
})
afterEach(() => ui.closeViews())
afterAll(async () => {
  await ui?.stop()
  await gateway?.stop()
})

test('groups, list, one dead letter, the suppression list and one entry of it look as they should', async () => {
  const view = await ui.openView('/dead-letters', { language: 'pt' })
  const { page } = view
  await expectSound(view, 'groups')
  await page.getByRole('link', { name: 'SMTP_MAILBOX_UNAVAILABLE' }).click()
  await page.getByRole('checkbox', { name: 'Selecionar esta linha' }).first().check()
  await expectSound(view, 'list')
  await page.getByRole('link', { name: 'Hello' }).first().click()
  await page.getByRole('dialog').getByText('Tentativa 5').waitFor()
  await expectSound(view, 'dead-letter')
  await page.goto(`${gateway.url}/admin/suppression`)
  await ready(page)
  await expectSound(view, 'suppression')
  await page.goto(`${gateway.url}/admin/suppression?open=${hashEmail('joao@example.com')}`)
  await page.getByRole('dialog').getByText('550 5.1.1 unknown').waitFor()
  await expectSound(view, 'suppression-entry')
})

test('a replay shows its progress after a reload and in a second browser, and can be stopped', async () => {
  const { pool } = gateway.db
  const company = await gateway.company({ name: 'many' })
  const [held] = await makeDead(pool, company.companyId, 30, { code: 'SES_DOWN' })
  // One e-mail is held, so that the action goes on until it is stopped.
  const client = new pg.Client(gateway.databaseUrl)
  await client.connect()
  await client.query('begin')
  await client.query('select from email_outbox where outbox_id = $1 for update', [held])
  const { page } = await ui.openView('/dead-letters?code=SES_DOWN')
  await page.getByRole('button', { name: 'Replay all of these' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('30 e-mails go back to the queue').waitFor()
  expect(await dialog.getByRole('button', { name: 'Replay' }).isDisabled()).toBe(true)
  await dialog.getByRole('textbox', { name: 'Reason' }).fill('SES is up again')
  await screenshot(page, 'replay-dialog')
  await dialog.getByRole('button', { name: 'Replay' }).click()
  await page.getByText('29 of 30').waitFor()
  await page.reload()
  await page.getByText('29 of 30').waitFor()
  await screenshot(page, 'replay-running')
  const second = (await ui.openView('/dead-letters')).page
  const panel = second.getByRole('region', { name: 'Replay of dead letters' })
  await panel.getByText('29 of 30').waitFor()
  await panel.getByRole('button', { name: 'Stop' }).click()
  await panel.getByText('Stopped').waitFor()
  await page.getByText('Stopped').waitFor()
  await client.query('rollback')
  await client.end()
  expect(await replaysOf(pool, company.companyId)).toMatchObject({ events: 29, dead: 1 })
  const [action] = await rows(gateway, 'select state, done, requested_by, reason from jobs')
  expect(action).toEqual({ state: 'stopped', done: 29, requested_by: 'admin', reason: 'SES is up again' })
})

test('a group that was replayed is gone as soon as its replay is done', async () => {
  const company = await gateway.company({ name: 'replayed' })
  await makeDead(gateway.db.pool, company.companyId, 40, { code: 'SES_OVER' })
  const { page } = await ui.openView('/dead-letters')
  const group = page.getByRole('row').filter({ hasText: 'SES_OVER' })
  await group.getByRole('button', { name: 'Replay' }).click()
  await page.getByRole('textbox', { name: 'Reason' }).fill('SES is up again')
  await page.getByRole('dialog').getByRole('button', { name: 'Replay' }).click()
  const card = page.getByRole('region', { name: 'Replay of dead letters' }).filter({ hasText: 'SES_OVER' })
  await card.getByText('Done', { exact: true }).waitFor()
  await group.waitFor({ state: 'detached', timeout: 2_000 })
})

test('chosen dead letters are replayed from the list', async () => {
  const { page } = await ui.openView('/dead-letters?code=SMTP_MAILBOX_UNAVAILABLE')
  const boxes = page.getByRole('checkbox', { name: 'Select this row' })
  await boxes.nth(0).check()
  await boxes.nth(1).check()
  await page.getByRole('region', { name: '2 selected' }).getByRole('button', { name: 'Replay' }).click()
  await page.getByRole('textbox', { name: 'Reason' }).fill('Only these')
  await page.getByRole('dialog').getByRole('button', { name: 'Replay' }).click()
  await page.getByText('2 of 2').waitFor()
  await until(
    () => rows(gateway, `select from dead_letters where last_failure_code like 'SMTP%'`),
    left => left.length === 1,
  )
})

test('Escape closes the dialog above a drawer, and the focus goes back to its button', async () => {
  const { page } = await ui.openView(`/suppression?open=${hashEmail('ana@example.com')}`)
  const focused = () => page.evaluate('document.activeElement.textContent')
  const expectOnlyDialogCloses = async (button: string, place: string) => {
    const dialogs = page.getByRole('dialog')
    await dialogs.getByRole('button', { name: button, exact: true }).click()
    await expect.poll(() => dialogs.count()).toBe(2)
    await page.keyboard.press('Escape')
    await expect.poll(() => dialogs.count()).toBe(1)
    await expect.poll(focused).toBe(button)
    expect(page.url()).toContain(place)
    await page.keyboard.press('Escape')
    await expect.poll(() => dialogs.count()).toBe(0)
    expect(page.url()).not.toContain(place)
  }
  await expectOnlyDialogCloses('Remove from the list', '?open=')
  await page.goto(`${gateway.url}/admin/dead-letters?code=SES_THROTTLED`)
  await page.getByRole('link', { name: 'Hello' }).first().click()
  await expectOnlyDialogCloses('Replay', 'open=')
})

test('an import whose header has an unknown column names it in Portuguese, and those that there are', async () => {
  const { page } = await ui.openView('/suppression', { language: 'pt' })
  await page.getByRole('button', { name: 'Importar CSV' }).click()
  const dialog = page.getByRole('dialog')
  const buffer = Buffer.from('email,motivo\nmaria@example.com,MANUAL\n')
  await dialog.locator('input[type=file]').setInputFiles({ name: 'list.csv', mimeType: 'text/csv', buffer })
  await dialog.getByLabel('Motivo').fill('Da lista antiga')
  await dialog.getByRole('button', { name: 'Importar' }).click()
  await dialog
    .getByText('tem a coluna “motivo”, que não existe; as colunas possíveis são email, email_hash, reason, expires_at')
    .waitFor()
})

test('a suppression is removed with a justification, which its history keeps; a complaint cannot be', async () => {
  const { page } = await ui.openView('/suppression')
  const search = page.getByRole('textbox', { name: 'Address, or first digits of a hash' })
  await search.fill('Maria@example.com')
  await search.press('Enter')
  const drawer = page.getByRole('dialog', { name: 'Address', exact: true })
  await drawer.getByText('550 5.1.1 unknown').waitFor()
  expect(page.url()).not.toContain('example.com')
  await drawer.getByRole('button', { name: 'Remove from the list' }).click()
  const dialog = page.getByRole('dialog', { name: 'Remove a suppression' })
  expect(await dialog.getByRole('button', { name: 'Remove from the list' }).isDisabled()).toBe(true)
  await dialog.getByRole('textbox', { name: 'Reason' }).fill('The mailbox works again')
  await dialog.getByRole('button', { name: 'Remove from the list' }).click()
  await drawer.getByText('“The mailbox works again”').waitFor()
  await drawer.getByText('on no list any more').waitFor()
  await screenshot(page, 'removed')
  const left = await rows(gateway, 'select from suppression_list where email_hash = $1', [
    hashEmail('maria@example.com'),
  ])
  expect(left).toEqual([])

  await page.goto(`${gateway.url}/admin/suppression?open=${hashEmail('joao@example.com')}`)
  const button = drawer.getByRole('button', { name: 'Remove from the list' })
  await button.waitFor()
  expect(await button.getAttribute('aria-disabled')).toBe('true')
  await drawer.getByText('A complaint cannot be removed').first().waitFor()
})
