import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cliOn, type TestCli } from '../support/cli.ts'
import { startTestGateway, type TestCompany, type TestGateway } from '../support/gateway.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { atCleanUp, cleanUp, makeDataDir, runCommand } from '../support/process.ts'

let gateway: TestGateway
let company: TestCompany
let cli: TestCli
let ids: string[]

beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api' })
  company = await gateway.company({ name: 'acme' })
  cli = await cliOn(gateway.databaseUrl)
  const body = { to: 'maria@example.com', subject: 'Hello', text: 'It works.' }
  const { data } = (await gateway.call(company, 'POST', '/v1/email/batch', [body, body])).body
  ids = data.map((one: { outboxId: string }) => one.outboxId)
})
afterAll(async () => {
  await gateway.stop()
  await cleanUp()
})

test('backup writes a file that restore takes once, into a new database, and refuses when it is cut off', async () => {
  const folder = await makeDataDir()
  const file = join(folder, 'gateway.backup')
  expect(await cli.lines('backup', file)).toMatch(/^\d+ rows written to \S+\n$/)
  await writeFile(join(folder, 'cut'), (await readFile(file)).subarray(0, -20))

  const database = await createTestDatabase()
  atCleanUp(() => database.drop())
  const target = await cliOn(database.url)
  expect(await target.fails(1, 'restore', join(folder, 'absent'))).toContain('cannot be read')
  expect(await target.fails(1, 'restore', join(folder, 'cut'))).toContain('damaged or not complete')
  expect(await target.lines('restore', file)).toMatch(/^\d+ rows of \S+ \S+ restored: Postgres at /)
  expect(await target.fails(1, 'restore', file)).toContain('not empty')
  expect(await target.lines('ledger', '--company', 'acme')).toMatch(/: balanced\n.*\n\S+ +acme +2 +0 +2 +0 +0\n$/s)
})

test('the time that ledger prints is that of the figures: every open day is counted before', async () => {
  const body = { to: 'maria@example.com', subject: 'Hello', text: 'It works.' }
  await cli.json('ledger')
  await gateway.db.pool.query(`update email_days set counted_at = now() - interval '5 seconds'`)
  const { rows } = await gateway.db.pool.query('select now() as asked')
  const { body: sent } = await gateway.call(company, 'POST', '/v1/email/send', body)
  const { countedAt, days } = await cli.json<{ countedAt: string; days: { accepted: number }[] }>('ledger')
  expect(days[0]!.accepted).toBe(3)
  expect(Date.parse(countedAt)).toBeGreaterThanOrEqual(rows[0].asked.getTime())
  for (const table of ['email_events', 'email_recipients', 'email_content', 'email_ready', 'email_outbox'])
    await gateway.db.pool.query(`delete from ${table} where outbox_id = $1`, [sent.outboxId])
})

test('ledger prints what was lost, and exits with 1 until somebody has said why it stays', async () => {
  expect(await cli.json('ledger')).toMatchObject({
    balanced: true,
    days: [{ companyName: 'acme', accepted: 2, waiting: 2 }],
  })
  await gateway.db.pool.query('delete from email_outbox where outbox_id = $1', [ids[0]])
  await gateway.db.pool.query('select pg_stat_force_next_flush()')
  const { code, stdout } = await runCommand(['ledger'], { env: cli.env })
  expect(code).toBe(1)
  expect(stdout).toContain('NOT balanced')
  expect(stdout).toMatch(/acme {2}1 e-mail missing since \S+Z\n {2}(\S+) {2}its row in email_outbox is gone/)
  expect(stdout).toContain(ids[0])
  expect(await cli.fails(2, 'ledger', '--day', 'today')).toContain('--day must be a day such as 2026-11-15')

  expect(await cli.fails(2, 'ledger', 'acknowledge')).toContain('--reason TEXT is missing')
  const reason = 'Deleted by hand when testing'
  expect(await cli.lines('ledger', 'acknowledge', '--reason', reason, '--by', 'ana')).toContain(ids[0])
  const balanced = await cli.lines('ledger')
  expect(balanced).toMatch(/: balanced, 1 acknowledged\ncounted at \S+Z: /)
  expect(balanced).toMatch(/ \(1 acknowledged by ana at \S+Z: Deleted by hand when testing\)\n/)
  const { rows } = await gateway.db.pool.query(
    `select performed_by, subject_id, reason from audit_log where action = 'LEDGER_ACKNOWLEDGED'`,
  )
  expect(rows).toEqual([{ performed_by: 'ana', subject_id: 'all', reason }])
})
