import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../support/gateway.ts'
import { cleanUp, runCommand } from '../support/process.ts'
import { SHARED_SECRETS } from '../support/secrets.ts'

const LETTER = { to: 'maria@example.com', subject: 'Hello', text: 'It works.' }

let gateway: TestGateway
let company: TestCompany
beforeAll(async () => {
  gateway = await startTestGateway()
  company = await gateway.company()
})
afterAll(async () => {
  await gateway?.stop()
  await cleanUp()
})

/** As a failover to a standby leaves it, or a hosted server that has run out of disk: connections of before are lost. */
async function setReadOnly(value: 'on' | 'off'): Promise<void> {
  const client = new pg.Client({ connectionString: gateway.databaseUrl })
  await client.connect()
  await client.query('set default_transaction_read_only = off')
  const name = new URL(gateway.databaseUrl).pathname.slice(1)
  await client.query(`alter database "${name}" set default_transaction_read_only = ${value}`)
  await client.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  )
  await client.end()
}

const ready = () => gateway.call(null, 'GET', '/health/ready')

test('a database that refuses changes is named by readiness, by refusals and by doctor, and mail goes on afterwards', async () => {
  await setReadOnly('on')
  try {
    const answer = await until(ready, ({ body }) => /read-only/.test(body.detail ?? ''))
    expect(answer).toMatchObject({ status: 503, body: { code: 'DATABASE_UNAVAILABLE' } })
    const refused = await gateway.call(company, 'POST', '/v1/email/send', LETTER)
    expect(refused).toMatchObject({
      status: 503,
      body: { detail: expect.stringMatching(/^The database is read-only; /) },
    })
    const env = { DATABASE_URL: gateway.databaseUrl, ...SHARED_SECRETS }
    const doctor = await runCommand(['doctor'], { env })
    expect(doctor).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^FAILED {3}database {4}.* is read-only: /m),
    })
  } finally {
    await setReadOnly('off')
  }
  await until(ready, ({ status }) => status === 200)
  expect(await gateway.call(company, 'POST', '/v1/email/send', LETTER)).toMatchObject({ status: 202 })
})
