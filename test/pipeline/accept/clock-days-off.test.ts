import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { acceptRequests } from '../../../src/outbox/accept.ts'
import { openDatabase } from '../../../src/platform/postgres/pool.ts'
import { clock } from '../../support/fake-time.ts'
import { call, until } from '../../support/gateway.ts'
import { draft } from '../../support/outbox.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import {
  atCleanUp,
  cleanUp,
  makeDataDir,
  runCommand,
  type SpawnedGateway,
  spawnGateway,
} from '../../support/process.ts'
import { SHARED_SECRETS } from '../../support/second-gateway.ts'

const DAY_MS = 86_400_000
const HELLO = { to: 'maria@example.com', subject: 'Hello', text: 'It works.' }

let env: Record<string, string>
let apiKey: string
let right: SpawnedGateway

beforeAll(async () => {
  const database = await createTestDatabase()
  atCleanUp(() => database.drop())
  env = { PORT: '0', DATABASE_URL: database.url, ...SHARED_SECRETS }
  apiKey = JSON.parse((await runCommand(['company', 'create', 'acme', '--json'], { env })).stdout).apiKey
  right = await spawnGateway({ env })
})
afterAll(cleanUp)

const send = (gateway: SpawnedGateway, more: object = {}) =>
  call(gateway.url, { apiKey }, 'POST', '/v1/email/send', { ...HELLO, ...more })
const show = (gateway: SpawnedGateway, outboxId: string) =>
  call(gateway.url, { apiKey }, 'GET', `/v1/email/${outboxId}`)
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString()

async function expectSent(gateway: SpawnedGateway, outboxId: string): Promise<void> {
  const { body } = await until(
    () => show(gateway, outboxId),
    answer => answer.body?.status === 'SENT',
    30_000,
  )
  expect(Math.abs(Date.parse(body.createdAt) - Date.now()), 'the time of the database').toBeLessThan(60_000)
}

describe.concurrent('an API whose clock is days off', () => {
  test.each(['+3d', '-3d', '+40d', '-40d'])(
    '%s: accepts, finds and sends by the time of the database',
    async offset => {
      const off = await spawnGateway({ env: { ...env, ...clock(offset) } })
      const logged = Date.parse(/"timestamp":"([^"]+)"/.exec(off.output())![1]!)
      expect(Math.abs(logged - Date.now()), 'its clock really is off').toBeGreaterThan(2 * DAY_MS)

      const tag = `order-${offset.replace(/\W/, offset.startsWith('+') ? 'plus' : 'minus')}`
      const ids: string[] = []
      for (const gateway of [right, off, right, off]) {
        const answer = await send(gateway, { tags: [tag] })
        expect(answer).toMatchObject({ status: 202 })
        ids.push(answer.body.outboxId)
        await sleep(500)
      }
      for (const id of ids) await expectSent(off, id)
      for (const [field, value] of [
        ['', ''],
        ['createdAfter', inDays(-0.5)],
        ['createdBefore', inDays(0.5)],
      ]) {
        const query = new URLSearchParams({ tag, ...(field && { [field]: value }) })
        const { body } = await call(off.url, { apiKey }, 'GET', `/v1/emails?${query}`)
        expect(body.data.map((one: { outboxId: string }) => one.outboxId)).toEqual(ids.toReversed())
      }

      await expectSent(off, (await send(off, { delay: 1_000 })).body.outboxId)
      const later = await send(off, { scheduledAt: inDays(29) })
      expect(later.status).toBe(202)
      expect((await send(off, { scheduledAt: inDays(31) })).status).toBe(422)
      const path = `/v1/email/${later.body.outboxId}`
      expect((await call(off.url, { apiKey }, 'PATCH', path, { scheduledAt: inDays(31) })).status).toBe(422)
      expect((await call(off.url, { apiKey }, 'PATCH', path, { delay: 500 })).status).toBe(200)
      await expectSent(off, later.body.outboxId)

      off.signal('SIGTERM')
      expect(await off.exited).toEqual({ code: 0, signal: null })
    },
  )

  test('set wrong while it runs: the next e-mails keep their order', async () => {
    const file = join(await makeDataDir(), 'time')
    await writeFile(file, '+0d')
    const { FAKETIME: _, ...preload } = clock('+0d')
    const off = await spawnGateway({
      env: { ...env, ...preload, FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: '1' },
    })
    const ids: string[] = []
    for (const offset of ['+0d', '+40d', '-40d', '+3d']) {
      await writeFile(file, offset)
      await sleep(500)
      const answer = await send(off)
      expect(answer).toMatchObject({ status: 202 })
      ids.push(answer.body.outboxId)
    }
    expect(ids).toEqual(ids.toSorted())
    for (const id of ids) await expectSent(off, id)
  })
})

test('ids for which there is no partition are made anew by the time of the database, once, and the e-mail is accepted', async () => {
  const db = openDatabase(env.DATABASE_URL!, () => {})
  atCleanUp(() => db.close())
  const { companyId } = (await db.pool.query('select company_id as "companyId" from companies')).rows[0]
  const longAgo = { ...draft(companyId), outboxId: '01000000-0000-7000-8000-000000000000' }
  const [outcome] = await acceptRequests(
    db.short,
    [{ drafts: [longAgo], strict: true, idempotency: null, refusedBefore: [] }],
    db.clock,
  )
  expect(outcome).toMatchObject({ kind: 'answered', answer: { results: [{ status: 'ACCEPTED' }] } })
  await expectSent(right, longAgo.outboxId)
})
