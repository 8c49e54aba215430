import { afterAll, beforeAll, expect, test } from 'vitest'
import { accept, draft } from '../../test/support/outbox.ts'
import { createTestDatabase } from '../../test/support/postgres.ts'
import { type Database, openDatabase } from '../platform/postgres/pool.ts'
import { uuidv7 } from '../platform/text/uuid.ts'

let database: { url: string; drop(): Promise<void> }
let db: Database
let outboxId: string

beforeAll(async () => {
  database = await createTestDatabase()
  db = openDatabase(database.url, () => {})
  const companyId = uuidv7()
  await db.pool.query(`insert into companies (company_id, name) values ($1, 'of the test')`, [companyId])
  outboxId = (await accept(db.pool, [draft(companyId)]))[0]!
})
afterAll(async () => {
  await db?.close()
  await database?.drop()
})

test.each([
  ["status = 'LOST'", 'email_outbox_status_check'],
  ['priority = 0', 'email_outbox_priority_check'],
  ['priority = 11', 'email_outbox_priority_check'],
  ["retry_policy = 'never'", 'email_outbox_retry_policy_check'],
  ["on_unknown = 'hope'", 'email_outbox_on_unknown_check'],
  ['max_attempts = 0', 'email_outbox_max_attempts_check'],
  ['max_attempts = 101', 'email_outbox_max_attempts_check'],
  ['attempts = -1', 'email_outbox_attempts_check'],
  ["status = 'PROCESSING'", 'worked_on_under_a_lease'],
  ['sent_at = now()', 'sent_has_a_message_id'],
  ['failed_at = now()', 'failure_has_a_reason'],
])('whoever writes it, an e-mail with %s is refused', async (change, rule) => {
  const written = db.pool.query(`update email_outbox set ${change} where outbox_id = $1`, [outboxId])
  await expect(written).rejects.toThrow(rule)
})
