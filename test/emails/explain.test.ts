import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cliOn, type TestCli } from '../support/cli.ts'
import { startTestGateway, type TestCompany, type TestGateway } from '../support/gateway.ts'
import { cleanUp, runCommand } from '../support/process.ts'

let gateway: TestGateway
let cli: TestCli
let acme: TestCompany

/** Without a worker, so that everything stays as the test puts it. */
beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api' })
  cli = await cliOn(gateway.databaseUrl)
  acme = await gateway.company({ name: 'acme' })
})
afterAll(async () => {
  await gateway.stop()
  await cleanUp()
})

async function accept(): Promise<string> {
  const body = { to: 'maria@example.com', subject: 'Hello', text: 'It works.' }
  return (await gateway.call(acme, 'POST', '/v1/email/send', body)).body.outboxId
}

const execute = (sql: string, ...values: unknown[]) => gateway.db.pool.query(sql, values)

const setWorker = (lane: 'direct' | 'bullmq') =>
  execute(
    `insert into workers (worker_id, host, pid, lane, concurrency) values ('00000000-0000-4000-8000-000000000001', 'here', 1, $1, 1)
     on conflict (worker_id) do update set lane = excluded.lane, seen_at = now()`,
    lane,
  )

async function startAttempt(outboxId: string, leaseSeconds: number): Promise<void> {
  const leaseId = randomUUID()
  await execute('delete from email_ready where outbox_id = $1', outboxId)
  await execute(
    `update email_outbox set status = 'PROCESSING', attempts = 1, provider = 'smtp', lease_id = $2 where outbox_id = $1`,
    outboxId,
    leaseId,
  )
  await execute(
    `insert into leases (lease_id, kind, holder, outbox_ids, expires_at)
     values ($1, 'work', 'here:1', array[$2::uuid], now() + $3 * interval '1 second')`,
    leaseId,
    outboxId,
    leaseSeconds,
  )
}

test('an e-mail whose worker is lost is not said to be under way', async () => {
  await execute('delete from workers')
  const [expired, running] = [await accept(), await accept()]
  await startAttempt(expired, -1)
  await startAttempt(running, 60)
  expect(await cli.lines('email', 'explain', running)).toMatch(
    /its worker is lost: no worker is running\.\nNext: .*UNKNOWN/,
  )
  await setWorker('direct')
  expect(await cli.lines('email', 'explain', expired)).toMatch(/its worker is lost: its lease has expired\./)
  expect(await cli.lines('email', 'explain', running)).toMatch(/^Being sent by smtp: attempt 1 of 5 is under way\./)
})

test('mail that goes through Redis says so', async () => {
  const outboxId = await accept()
  await setWorker('direct')
  expect(await cli.lines('email', 'explain', outboxId)).toMatch(/turn comes\.\n$/)
  await setWorker('bullmq')
  expect(await cli.lines('email', 'explain', outboxId)).toMatch(/through Redis; email-gateway doctor shows/)
})

test('an e-mail that was sent by SMTP after an unknown outcome waits for no event, and may have arrived twice', async () => {
  const outboxId = await accept()
  await execute(
    `update email_outbox set status = 'SENT', attempts = 2, provider = 'smtp', message_id = 'm', sent_at = now() where outbox_id = $1`,
    outboxId,
  )
  expect(await cli.lines('email', 'explain', outboxId)).toMatch(/as m\.\nNext: SENT is its last status: smtp reports/)
  await execute(
    `insert into email_events (event_id, outbox_id, company_id, type, metadata)
     values ($1, $2, $3, 'RESOLVED', '{"by": "policy-resend"}')`,
    randomUUID(),
    outboxId,
    acme.companyId,
  )
  expect(await cli.lines('email', 'explain', outboxId)).toMatch(/it may have arrived twice\.\n/)
})

test('an e-mail whose row is gone is shown by its events, with whether it was sent', async () => {
  const outboxId = await accept()
  await execute('delete from email_outbox where outbox_id = $1', outboxId)
  for (const action of ['show', 'explain'])
    expect(await runCommand(['email', action, outboxId], { env: cli.env })).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^Its row in email_outbox was deleted .* it was never sent\.\n[\s\S]*QUEUED/),
    })
  const nobody = randomUUID()
  expect(await cli.fails(1, 'email', 'explain', nobody)).toBe(`There is no e-mail ${nobody}.\n`)
})
