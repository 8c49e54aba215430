import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Queryable } from '../../src/platform/postgres/query.ts'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'
import { accept, claim, draft, readEmail, receive, worker } from '../support/outbox.ts'
import { failed, scripted } from '../support/unknown.ts'

let gateway: TestGateway
let db: Queryable

beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api' })
  db = gateway.db.short
})
afterAll(() => gateway?.stop())

test('a long answer that is cut in the middle of an emoji is understood', async () => {
  const answer = failed({ name: 'validation_error', statusCode: 422, message: `x${'😀'.repeat(2000)}` })
  expect(answer.kind === 'failed' && answer.failure.message.isWellFormed()).toBe(true)
})

test.each([
  ['half of an emoji', 'refused: \ud83d', 'refused: \ufffd'],
  ['the other half, and a backslash before it', 'refused: \\\ude00!', 'refused: \\\ufffd!'],
  ['what only looks like one', 'refused: \\ud83d', 'refused: \\ud83d'],
  ['a whole one', 'refused: 😀', 'refused: 😀'],
  ['a NUL', 'refused: \0', 'refused: '],
])('a provider that answers with %s is understood', async (_, message, kept) => {
  const { companyId } = await gateway.company()
  const [outboxId] = await accept(db, [draft(companyId)])
  const answer = failed({ name: 'validation_error', statusCode: 422, message: 'refused' })
  if (answer.kind === 'failed') answer.failure.message = message
  const provider = scripted('resend', true, answer)
  for (const claimed of await receive(db, await claim(db, 1))) await worker(db, { route: () => provider })(claimed)
  expect((await readEmail(db, outboxId!)).email).toMatchObject({ status: 'REJECTED', failure_reason: kept })
})
