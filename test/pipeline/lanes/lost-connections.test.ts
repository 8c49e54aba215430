import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStorage, type Storage } from '../../../src/console/storage.ts'
import { startGateway } from '../../../src/main.ts'
import type { Database } from '../../../src/platform/postgres/pool.ts'
import { loadConfig } from '../../../src/settings/config.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../../support/gateway.ts'
import { read, sendOk } from '../../support/mail.ts'
import { type RedisServer, startRedis } from '../../support/redis-server.ts'
import { SHARED_SECRETS } from '../../support/secrets.ts'

const silent = pino({ level: 'silent' })

let api: TestGateway
let company: TestCompany
let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
  api = await startTestGateway({ role: 'api' })
  company = await api.company()
})
afterAll(async () => {
  await api?.stop()
  await redis?.close()
})

type Loss = 'before it arrives' | 'after its commit'

/** Capture is the provider here: what is lost with it is a message, not a statement. */
const OF_THE_PROVIDER = new Set(['put-captured'])

/** `statement` runs in place of each named statement of a worker, and may run it. */
function intercepting(
  storage: Storage,
  statement: (name: string, run: () => Promise<unknown>) => Promise<unknown>,
): Storage {
  const intercepted = <Pool extends Database['short']>(pool: Pool): Pool =>
    new Proxy(pool, {
      get(target, key) {
        const value = Reflect.get(target, key)
        if (typeof value !== 'function') return value
        if (key !== 'query') return value.bind(target)
        return async (...args: [{ name?: string }]) => {
          const run = () => value.apply(target, args)
          return args[0]?.name ? statement(args[0].name, run) : run()
        }
      },
    })
  const { db } = storage
  const { claims, emails, starts, settlements } = db.sending
  const sending = {
    claims: intercepted(claims),
    emails: intercepted(emails),
    starts: intercepted(starts),
    settlements: intercepted(settlements),
  }
  return { ...storage, db: { ...db, short: intercepted(db.short), pool: intercepted(db.pool), sending } }
}

const connectionLost = () => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })

/** Every statement of a worker loses its connection the first time that it is used. */
function losingEachOnce(storage: Storage, loss: Loss, lost: Set<string>): Storage {
  return intercepting(storage, async (name, run) => {
    if (lost.has(name) || OF_THE_PROVIDER.has(name)) return run()
    lost.add(name)
    if (loss === 'after its commit') await run()
    throw connectionLost()
  })
}

async function sendOneOfEachKind(): Promise<string[]> {
  const file = { filename: 'a.txt', content: 'YQ==' }
  const { rows } = await api.db.pool.query<{ id: string }>(
    `select put_sql_email($1, false, gen_random_uuid(), 'welcome_user', 'ana@example.com', $2) as id`,
    [company.companyId, { user_data: { full_name: 'Ana' } }],
  )
  const ofSql = rows.map(row => row.id)
  return [...ofSql, await sendOk(api, company), await sendOk(api, company, { attachments: [file] })]
}

const BOTH = ['claim-fair-batch', 'start-attempts', 'settle-sent', 'load-attachments', 'store-rendered-contents']
const DIRECT = ['load-emails-to-send']
const BULLMQ = ['load-jobs', 'lease-dispatched']
test.each<[lane: 'direct' | 'BullMQ', loss: Loss, used: string[]]>([
  ['direct', 'before it arrives', DIRECT],
  ['direct', 'after its commit', DIRECT],
  ['BullMQ', 'before it arrives', BULLMQ],
  ['BullMQ', 'after its commit', BULLMQ],
])('%s lane: a connection that is lost with any statement, %s, costs no attempt', async (lane, loss, used) => {
  const ids = await sendOneOfEachKind()
  const lost = new Set<string>()
  await whileWorking(
    lane,
    storage => losingEachOnce(storage, loss, lost),
    () => allSent(ids),
  )
  for (const id of ids) expect(await read(api, company, id)).toMatchObject({ status: 'SENT', attempts: 1 })
  expect([...lost]).toEqual(expect.arrayContaining([...BOTH, ...used]))
})

test('BullMQ lane: an e-mail whose lease was committed and not answered is sent, also when the feeder has looked at it before that lease ended', async () => {
  const id = await sendOk(api, company)
  const { pool } = api.db
  let losses = 0
  let ends = 0
  await whileWorking(
    'BullMQ',
    storage =>
      intercepting(storage, async (name, run) => {
        if ((name === 'end-leases' || name === 'wait-for-claims') && ends++ === 0) {
          await until(
            async () => (await pool.query(`select from leases where kind = 'dispatch'`)).rowCount,
            count => count === 0,
          )
        }
        if (name !== 'lease-dispatched' || losses++ > 0) return run()
        await pool.query(`update leases set taken_at = taken_at - interval '1 minute' where kind = 'dispatch'`)
        await run()
        throw connectionLost()
      }),
    () => allSent([id]),
  )
  expect(losses).toBeGreaterThan(1)
  expect(await read(api, company, id)).toMatchObject({ status: 'SENT', attempts: 1 })
})

const allSent = (ids: string[]) =>
  until(
    () => Promise.all(ids.map(id => read(api, company, id))),
    emails => emails.every(email => email.status === 'SENT'),
    40_000,
  )

/** A worker whose connections to Postgres are changed by `change`. */
async function whileWorking(
  lane: 'direct' | 'BullMQ',
  change: (storage: Storage) => Storage,
  body: () => Promise<unknown>,
): Promise<void> {
  const config = loadConfig({
    DATABASE_URL: api.databaseUrl,
    PORT: '0',
    ...(lane === 'BullMQ' && { REDIS_URL: redis.url }),
    ...SHARED_SECRETS,
  })
  const opened = await openStorage(config, { use: 'gateway', logInfo: () => {}, onLost: () => {}, log: silent })
  const storage = change(opened)
  // The start itself asks for a working database.
  const worker = await startWhenPossible(() => startGateway(config, storage, 'worker', silent))
  try {
    await body()
  } finally {
    await worker.stop()
    await opened.close()
  }
}

async function startWhenPossible<Started>(start: () => Promise<Started>): Promise<Started> {
  for (let tries = 0; ; tries++) {
    try {
      return await start()
    } catch (error) {
      if (tries > 100) throw error
    }
  }
}
