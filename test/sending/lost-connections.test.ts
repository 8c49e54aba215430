import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStorage, type Storage } from '../../src/compose/storage.ts'
import { loadConfig } from '../../src/config.ts'
import type { Database } from '../../src/db/pool.ts'
import { startGateway } from '../../src/main.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../support/gateway.ts'
import { read, sendOk } from '../support/mail.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import { SHARED_SECRETS } from '../support/secrets.ts'

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

/** Every statement of a worker loses its connection the first time that it is used. */
function losingEachOnce(storage: Storage, loss: Loss): { storage: Storage; lost: Set<string> } {
  const lost = new Set<string>()
  const losing = <Pool extends Database['hot']>(pool: Pool): Pool =>
    new Proxy(pool, {
      get(target, key) {
        const value = Reflect.get(target, key)
        if (typeof value !== 'function') return value
        if (key !== 'query') return value.bind(target)
        return async (...args: [{ name?: string }]) => {
          const name = args[0]?.name
          if (!name || lost.has(name) || OF_THE_PROVIDER.has(name)) return value.apply(target, args)
          lost.add(name)
          if (loss === 'after its commit') await value.apply(target, args)
          throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
        }
      },
    })
  const { db } = storage
  const { claims, emails, starts, settlements } = db.sending
  const sending = {
    claims: losing(claims),
    emails: losing(emails),
    starts: losing(starts),
    settlements: losing(settlements),
  }
  return { storage: { ...storage, db: { ...db, hot: losing(db.hot), pool: losing(db.pool), sending } }, lost }
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
  const config = loadConfig({
    DATABASE_URL: api.databaseUrl,
    PORT: '0',
    ...(lane === 'BullMQ' && { REDIS_URL: redis.url }),
    ...SHARED_SECRETS,
  })
  const opened = await openStorage(config, { use: 'gateway', logInfo: () => {}, onLost: () => {}, log: silent })
  const { storage, lost } = losingEachOnce(opened, loss)
  // The start itself asks for a working database.
  const worker = await startWhenPossible(() => startGateway(config, storage, 'worker', silent))
  try {
    await until(
      () => Promise.all(ids.map(id => read(api, company, id))),
      emails => emails.every(email => email.status === 'SENT'),
      40_000,
    )
  } finally {
    await worker.stop()
    await opened.close()
  }
  for (const id of ids) expect(await read(api, company, id)).toMatchObject({ status: 'SENT', attempts: 1 })
  expect([...lost]).toEqual(expect.arrayContaining([...BOTH, ...used]))
})

async function startWhenPossible<Started>(start: () => Promise<Started>): Promise<Started> {
  for (let tries = 0; ; tries++) {
    try {
      return await start()
    } catch (error) {
      if (tries > 100) throw error
    }
  }
}
