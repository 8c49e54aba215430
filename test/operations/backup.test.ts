import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { countLedger } from '../../src/ledger/count.ts'
import { readLedger } from '../../src/ledger/ledger.ts'
import { dumpLines } from '../../src/operations/backup.ts'
import { restoreLines } from '../../src/operations/restore.ts'
import { openDatabase } from '../../src/platform/postgres/pool.ts'
import { loadConfig } from '../../src/settings/config.ts'
import { requireSecretsOfBackup } from '../../src/settings/secrets-of-database.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../support/gateway.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { atCleanUp, BIN, cleanUp, makeDataDir, runCommand, runShell } from '../support/process.ts'
import { SHARED_SECRETS, startSecondGateway } from '../support/second-gateway.ts'

let gateway: TestGateway
let company: TestCompany

beforeAll(async () => {
  gateway = await startTestGateway()
  company = await gateway.company()
})
afterAll(async () => {
  await gateway.stop()
  await cleanUp()
})

const CONFIG = loadConfig({ DATABASE_URL: 'postgres://localhost/x', ...SHARED_SECRETS })
const check = (tx: Parameters<typeof requireSecretsOfBackup>[0]) => requireSecretsOfBackup(tx, CONFIG)

async function collect(lines: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = []
  for await (const line of lines) all.push(line.slice(0, -1))
  return all
}

async function* oneByOne(lines: string[]): AsyncGenerator<string> {
  yield* lines
}

const send = (more: object = {}) =>
  gateway.call(company, 'POST', '/v1/email/send', {
    to: 'maria@example.com',
    subject: 'Olá "você", (a\\b)',
    text: 'Zeile 1\nZeile 2\ttab, {braces}',
    ...more,
  })

test('a file that is cut off, changed, foreign or of another schema is refused, and so is a database in use', async () => {
  const lines = await collect(dumpLines(gateway.databaseUrl, '9.9.9', { rows: 0 }))
  const target = await createTestDatabase()
  const db = openDatabase(target.url, () => {})
  const refusal = async (given: string[], url = target.url) =>
    restoreLines(url, oneByOne(given), check).then(
      () => 'restored',
      (error: Error) => `${error.name}: ${error.message}`,
    )
  const at = lines.findIndex(line => line.includes(company.name))
  const changed = lines.with(at, lines[at]!.replace(company.name, company.name.replace(/.$/, 'X')))
  const header = JSON.parse(lines[0]!)
  try {
    expect(await refusal(lines.slice(0, -1))).toMatch(/^CommandFailed: .*not complete/)
    expect(await refusal(changed)).toMatch(/^CommandFailed: .*checksum/)
    expect(await refusal(lines.toSpliced(at, 1))).toMatch(/^CommandFailed: .*Postgres refuses a row/)
    expect(await refusal([...lines, '{}'])).toMatch(/^CommandFailed: .*after its end/)
    expect(await refusal(['{"format": "other"}'])).toMatch(/^CommandFailed: This is not a backup/)
    const newer = JSON.stringify({ ...header, schemaVersion: header.schemaVersion + 1 })
    expect(await refusal([newer, ...lines.slice(1)])).toMatch(/^CommandFailed: .*version 9\.9\.9/)
    const pepper = createHash('sha256').update('other').digest('hex')
    const otherSecrets = { ...SHARED_SECRETS, HASH_PEPPER: pepper }
    const wrong = loadConfig({ DATABASE_URL: 'postgres://localhost/x', ...otherSecrets })
    await expect(restoreLines(target.url, oneByOne(lines), tx => requireSecretsOfBackup(tx, wrong))).rejects.toThrow(
      'HASH_PEPPER is not the one that the backup was written with',
    )
    // None of them has left anything.
    expect((await db.pool.query('select from companies')).rowCount).toBe(0)
    await db.pool.query(`insert into gateway_processes (process_id, host, pid, role, version, providers, settings)
      values (gen_random_uuid(), 'here', 1, 'api', '0.0.0', '{capture}', '{}')`)
    expect(await refusal(lines)).toMatch(/^CommandFailed: A gateway runs/)
    await db.pool.query('delete from gateway_processes')
    expect(await refusal(lines)).toBe('restored')
    expect(await refusal(lines)).toMatch(/^CommandFailed: This database is not empty/)
  } finally {
    await db.close()
    await target.drop()
  }
})

test('a backup under load is one moment: restored elsewhere, the ledger balances and a gateway sends what was open', async () => {
  const attachment = {
    filename: 'a.bin',
    contentType: 'application/pdf',
    content: Buffer.from('%PDF-\0\n"\\').toString('base64'),
  }
  const { outboxId } = (await send({ attachments: [attachment] })).body
  const later = (await send({ scheduledAt: new Date(Date.now() + 3_600_000).toISOString() })).body.outboxId
  let loading = true
  const load = (async () => {
    while (loading) await Promise.all(Array.from({ length: 4 }, () => send()))
  })()
  await send()
  const progress = { rows: 0 }
  const lines = await collect(dumpLines(gateway.databaseUrl, '0.0.0', progress))
  loading = false
  await load

  const target = await createTestDatabase()
  const restored = await restoreLines(target.url, oneByOne(lines), check)
  expect(restored.rows).toBe(progress.rows)
  const db = openDatabase(target.url, () => {})
  try {
    // Every value as it was: the first e-mail has ended long ago in neither, so its rows of both sides are compared as text.
    for (const table of ['email_content', 'email_attachments', 'email_recipients']) {
      const rows = `select t::text as row from ${table} t where outbox_id = '${later}' or (outbox_id = '${outboxId}' and '${table}' <> 'email_recipients') order by 1`
      expect((await db.pool.query(rows)).rows).toEqual((await gateway.db.pool.query(rows)).rows)
    }
    await countLedger(db.pool, { maxMs: 60_000, urgent: true })
    const ledger = await readLedger(db.pool, { since: null, until: null, companyId: null })
    expect(ledger).toMatchObject({ balanced: true, uncountedDays: 0 })
    expect(ledger.days.reduce((sum, day) => sum + day.accepted, 0)).toBeGreaterThan(2)

    await db.pool.query(`update email_outbox set next_attempt_at = now() where outbox_id = $1`, [later])
    await db.pool.query('update email_scheduled set due_at = now() where outbox_id = $1', [later])
    const second = await startSecondGateway(target.url, 'all')
    try {
      await until(
        async () =>
          (await db.pool.query(`select status from email_outbox where status not in ('SENT', 'DELIVERED')`)).rows,
        open => open.length === 0,
      )
      // New rows of numbered tables go on where the backup ended.
      const answer = await fetch(`${second.url}/v1/email/send`, {
        method: 'POST',
        headers: { 'x-api-key': company.apiKey, 'content-type': 'application/json' },
        body: JSON.stringify({ to: 'maria@example.com', subject: 'After', text: 'It works.' }),
      })
      expect(answer.status).toBe(202)
    } finally {
      await second.stop()
    }
  } finally {
    await db.close()
    await target.drop()
  }
})

test('a restore with wrong secrets says that they are not those of the backup, and the right ones still work', async () => {
  const folder = await makeDataDir()
  const file = `${folder}/gateway.backup`
  const env = { DATABASE_URL: gateway.databaseUrl, ...SHARED_SECRETS }
  expect(await runCommand(['backup', file], { env })).toMatchObject({ code: 0 })
  const again = await runCommand(['backup', file, '--json'], { env })
  expect({ code: again.code, ...JSON.parse(again.stdout) }).toMatchObject({ code: 1, error: { code: 'FILE_EXISTS' } })
  expect(await runCommand(['backup', file, '--force'], { env })).toMatchObject({ code: 0 })
  const target = await createTestDatabase()
  atCleanUp(() => target.drop())
  const restore = (pepper: string) =>
    runCommand(['restore', file], { env: { ...env, DATABASE_URL: target.url, HASH_PEPPER: pepper } })
  expect(await restore('another-pepper-'.repeat(3))).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /^HASH_PEPPER is not the one that the backup was written with\. .*nothing was restored/,
    ),
  })
  expect(await restore(SHARED_SECRETS.HASH_PEPPER)).toMatchObject({ code: 0, stderr: '' })
})

test.each([
  ['/nonexistent/x', 'into a folder that does not exist'],
  ['- >/dev/full', 'to a full disk'],
  ['- | head -c 10 >/dev/null', 'to a reader that goes away'],
])('a backup to %s ends at once and leaves no transaction open: %s', async target => {
  await gateway.db.pool.query(
    `insert into statistics (company_id, step, at, sent) select $1, 'hour', h, 1
     from generate_series(now() - interval '40000 hours', now(), interval '1 hour') h on conflict do nothing`,
    [company.companyId],
  )
  const script = `node ${BIN} backup ${target}`
  const env = { DATABASE_URL: gateway.databaseUrl, ...SHARED_SECRETS }
  const ended = await runShell(script, { env, patienceMs: 15_000 })
  expect(ended.signal).toBeNull()
  if (!target.includes('|'))
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringMatching(/cannot be written/) })
  expect(ended.stderr).not.toMatch(/\n\s+at /)
  const { rows } = await gateway.db.pool.query(
    `select state from pg_stat_activity where application_name = 'email-gateway-backup'`,
  )
  expect(rows).toEqual([])
})
