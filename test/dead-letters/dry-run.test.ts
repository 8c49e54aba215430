import { afterAll, beforeAll, expect, test } from 'vitest'
import { insertCompany } from '../../src/companies/companies.ts'
import type { DeadLetter } from '../../src/outbox/dead-letters.ts'
import { type Database, openDatabase } from '../../src/platform/postgres/pool.ts'
import { uuidv7 } from '../../src/platform/text/uuid.ts'
import { type TestCli, testCli } from '../support/cli.ts'
import { makeDead, replaysOf } from '../support/dead.ts'
import { atCleanUp, cleanUp } from '../support/process.ts'

let cli: TestCli
let db: Database

beforeAll(async () => {
  cli = await testCli()
  db = openDatabase(cli.url, () => {})
  atCleanUp(() => db.close())
  await cli.lines('migrate')
})
afterAll(cleanUp)

let made = 0
async function company(): Promise<{ companyId: string; name: string }> {
  return insertCompany(db.pool, { companyId: uuidv7(), name: `dry ${++made}` })
}

type DryReplay = { dryRun: true; replayed: number; skipped: Record<string, number>; first: DeadLetter[] }

test('dlq replay --dry-run says how many and which first ones, as the replay would take them, and changes nothing', async () => {
  const { companyId, name } = await company()
  const ids = await makeDead(db.pool, companyId, 12, { agoSeconds: 600 })
  await makeDead(db.pool, companyId, 2, { status: 'FAILED', code: 'SEND_OUTCOME_UNKNOWN' })
  await db.pool.query('update dead_letters set original_data = null where outbox_id = $1', [ids[0]])
  const before = await replaysOf(db.pool, companyId)
  const mine = ['dlq', 'replay', '--company', name, '--dry-run']
  const dry = await cli.json<DryReplay>(...mine)
  expect(dry).toMatchObject({
    ...{ dryRun: true, replayed: 11, skipped: { payloadPurged: 1, outcomeUnknown: 2, notFound: 0 } },
  })
  expect(dry.first.map(one => one.outboxId)).toEqual(ids.slice(1, 11))
  const lines = (await cli.lines(...mine)).trimEnd().split('\n')
  expect(lines[0]).toMatch(/^Would replay 11 entries, skipped: 1 payload purged, 2 that may have been sent already/)
  expect(lines[1]).toContain(ids[1])
  expect(lines[1]).toContain(name)
  expect(lines.at(-1)).toBe('… and 1 more')
  const limited = (await cli.lines(...mine, '--limit', '1')).trimEnd().split('\n')
  expect(limited).toEqual([expect.stringMatching(/^Would replay 1 entry,/), expect.stringContaining(ids[1]!)])
  expect(await replaysOf(db.pool, companyId)).toEqual(before)
})

test('dlq replay --dry-run of ids says what would become of each', async () => {
  const { companyId } = await company()
  const [dead, emptied] = await makeDead(db.pool, companyId, 2)
  const [expired] = await makeDead(db.pool, companyId, 1, { status: 'EXPIRED' })
  await db.pool.query('update dead_letters set original_data = null where outbox_id = $1', [emptied])
  expect(await cli.lines('dlq', 'replay', dead!, expired!, '--dry-run')).toBe('Would replay 2 entries\n')
  expect(await cli.fails(1, 'dlq', 'replay', emptied!, '--dry-run')).toBe(
    `${emptied} cannot be replayed: its payload was purged.\n`,
  )
  expect(await cli.json('dlq', 'replay', dead!, '--dry-run')).toMatchObject({ dryRun: true, replayed: 1 })
  expect(await replaysOf(db.pool, companyId)).toMatchObject({ events: 0, ready: 0, dead: 2 })
})

test('dlq purge --dry-run says how many and which first ones, with --yes, too, and deletes nothing', async () => {
  const { companyId, name } = await company()
  const [first] = await makeDead(db.pool, companyId, 1)
  const mine = ['dlq', 'purge', '--company', name]
  expect(await cli.fails(2, ...mine)).toMatch(/^1 entry would be purged for good;/)
  expect(await cli.json(...mine, '--yes', '--dry-run')).toMatchObject({
    ...{ dryRun: true, purged: 1, first: [{ outboxId: first, companyName: name }] },
  })
  expect(await cli.lines(...mine, '--dry-run')).toMatch(new RegExp(`^Would purge 1 entry\\n.*${first}.*\\n$`))
  expect(await replaysOf(db.pool, companyId)).toMatchObject({ dead: 1 })
})
