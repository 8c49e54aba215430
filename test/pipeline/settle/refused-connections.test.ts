import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestGateway, type TestGateway, until } from '../../support/gateway.ts'
import { type HoldingResend, startHoldingResend } from '../../support/holding-resend.ts'
import { read, sendOk } from '../../support/mail.ts'

let resend: HoldingResend
let gateway: TestGateway
let elsewhere: pg.Client

beforeAll(async () => {
  resend = await startHoldingResend()
  gateway = await startTestGateway({ env: { ...resend.env, EMAIL_FROM: 'shop@acme.example' } })
  const url = new URL(gateway.databaseUrl)
  url.pathname = '/postgres'
  elsewhere = new pg.Client({ connectionString: url.href })
  await elsewhere.connect()
})
afterAll(async () => {
  await gateway?.stop()
  await elsewhere?.end()
  await resend?.close()
})

/** Every connection is closed, and none is admitted: as after a password was changed, with another code. */
async function admit(isAdmitted: boolean): Promise<void> {
  const name = new URL(gateway.databaseUrl).pathname.slice(1)
  await elsewhere.query(`alter database ${pg.escapeIdentifier(name)} allow_connections ${isAdmitted}`)
  if (!isAdmitted)
    await elsewhere.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
}

test('an answer of the provider outlives a Postgres that refuses every connection; API and health say that it does', async () => {
  const company = await gateway.company()
  const id = await sendOk(gateway, company, { to: 'slow@example.com', from: 'shop@acme.example' })
  await until(
    async () => resend.arrived.length,
    count => count === 1,
  )
  await admit(false)
  try {
    resend.release()
    const refused = await gateway.call(company, 'GET', `/v1/email/${id}`)
    expect([refused.status, refused.body.code]).toEqual([503, 'DATABASE_UNAVAILABLE'])
    const ready = await gateway.call(null, 'GET', '/health/ready')
    expect([ready.status, ready.body.detail]).toEqual([
      503,
      'Postgres cannot be used (55000). Nothing can be accepted.',
    ])
    // The answer is there by now, and several tries to write it have failed.
    await until(
      async () => gateway.logs(),
      logs => logs.includes('not currently accepting connections'),
    )
  } finally {
    await admit(true)
  }
  await until(
    () => read(gateway, company, id),
    ({ status }) => status === 'SENT',
  )
  expect(resend.arrived).toHaveLength(1)
  expect(await read(gateway, company, id)).toMatchObject({ attempts: 1 })
})
