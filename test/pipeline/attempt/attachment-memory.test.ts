import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeAttachmentMemory } from '../../../src/pipeline/attempt/compose.ts'
import type { Queryable } from '../../../src/platform/postgres/query.ts'
import { startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { rows, sleep } from '../../support/mail.ts'
import { accept, claim, draft, receive, worker } from '../../support/outbox.ts'
import { scripted, taken } from '../../support/unknown.ts'

const MEGABYTE = 1024 * 1024

let gateway: TestGateway
let db: Queryable

beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api' })
  db = gateway.db.short
})
afterAll(() => gateway?.stop())

async function withFile(bytes: number, count: number): Promise<string[]> {
  const { companyId } = await gateway.company()
  const ids = await accept(
    db,
    Array.from({ length: count }, () => draft(companyId)),
  )
  await db.query(
    `insert into email_attachments (outbox_id, ordinal, filename, content_type, content)
     select id, 0, 'file.pdf', 'application/pdf', decode(repeat('00', $2), 'hex') from unnest($1::uuid[]) as id`,
    [ids, bytes],
  )
  return ids
}

test('large attachments are in memory a few at a time, whatever the concurrency, and small ones do not wait for them', async () => {
  const large = await withFile(10 * MEGABYTE, 12)
  const small = await withFile(20_000, 20)
  const inMemory = { now: 0, most: 0 }
  const order: string[] = []
  const provider = scripted('ses', false, async ({ outboxId, attachments }) => {
    const bytes = attachments[0]!.base64.length
    inMemory.now += bytes
    inMemory.most = Math.max(inMemory.most, inMemory.now)
    await sleep(100)
    inMemory.now -= bytes
    order.push(outboxId)
    return taken()
  })
  const attempt = worker(db, { route: () => provider, memory: makeAttachmentMemory() })
  await Promise.all((await receive(db, await claim(db, 100))).map(attempt))
  expect(inMemory.most).toBeLessThan(64 * MEGABYTE * 1.4 + MEGABYTE)
  expect(order.slice(-6).every(id => large.includes(id))).toBe(true)
  const sent = await rows(gateway, `select outbox_id from email_outbox where status = 'SENT' and attempts = 1`)
  expect(sent.map(row => row.outbox_id).sort()).toEqual([...large, ...small].sort())
})
