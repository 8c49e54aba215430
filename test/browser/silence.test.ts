import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Database, openDatabase } from '../../src/platform/postgres/pool.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { cleanUp, type SpawnedGateway, spawnGateway } from '../support/process.ts'
import { SHARED_SECRETS } from '../support/secrets.ts'
import { startUi, type Ui } from './ui.ts'

/** A process of its own, which can be stopped without its connections being closed. */
let database: Awaited<ReturnType<typeof createTestDatabase>>
let db: Database
let gateway: SpawnedGateway
let ui: Ui

beforeAll(async () => {
  database = await createTestDatabase()
  gateway = await spawnGateway({ env: { DATABASE_URL: database.url, PORT: '0', ...SHARED_SECRETS } })
  db = openDatabase(database.url, () => {})
  ui = await startUi({ url: gateway.url, db })
})
afterAll(async () => {
  await ui?.stop()
  await db?.close()
  await cleanUp()
  await database?.drop()
})

test('a gateway that hangs is not called live, views say that it does not answer, and all goes on when it does', async () => {
  const { page } = await ui.openView('/companies')
  // The scripts of these views are there, their data is not.
  for (const view of ['Audit log', 'Companies']) await page.getByRole('link', { name: view }).click()
  const unread = await ui.openView('/emails')
  await page.getByText('Live', { exact: true }).waitFor()
  gateway.signal('SIGSTOP')
  const stoppedAt = Date.now()
  try {
    await page.getByRole('link', { name: 'Audit log' }).click()
    await page.getByText('Everything', { exact: true }).click()
    await unread.page.getByRole('link', { name: 'Providers' }).click()
    await page.getByText('Not live', { exact: true }).waitFor()
    await page.getByText(/The gateway has not answered since \d\d:\d\d/).waitFor()
    expect(Date.now() - stoppedAt).toBeLessThan(16_000)
    await page.getByRole('alert').getByText('The gateway does not answer.').waitFor()
    await unread.page.getByRole('alert').getByText('The gateway does not answer.').waitFor()
  } finally {
    gateway.signal('SIGCONT')
  }
  await page.getByText(/The gateway has not answered since/).waitFor({ state: 'detached' })
  await page.getByText('The gateway does not answer.').waitFor({ state: 'detached' })
  await page.getByText('Live', { exact: true }).waitFor()
  await unread.page.getByRole('heading', { name: 'Providers' }).waitFor()
})
