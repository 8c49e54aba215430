import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestContext } from 'vitest'
import { registerCompany } from '../../src/companies/changes.ts'
import type { CompanyChange } from '../../src/companies/companies.ts'
import { type Database, openDatabase } from '../../src/platform/postgres/pool.ts'
import { edition, FULL } from './faults.ts'
import { type Answer, call, until } from './gateway.ts'
import { createTestDatabase, makeTestFolder } from './postgres.ts'
import { launchGateway, type SpawnedGateway, spawnGateway } from './process.ts'
import { type RedisServer, startRedis } from './redis-server.ts'
import { type SpawnedFakeSes, spawnFakeSes } from './spawn-fake-ses.ts'

type Company = { companyId: string; apiKey: string; name: string; weight: number }
export type Running = Pick<SpawnedGateway, 'signal' | 'exited' | 'output' | 'errors' | 'pid'>

export type Deployment = {
  db: Database
  ses: SpawnedFakeSes
  redis: RedisServer | null
  api: SpawnedGateway
  companies: Company[]
  /** Every outboxId that was answered with 202, and what else was answered. */
  accepted: Set<string>
  refused: Answer[]
  addCompany: (change?: CompanyChange & { name?: string }) => Promise<Company>
  /** Accepts so many, of the companies in turn, every second one with onUnknown 'hold'. */
  post: (count: number, change?: (index: number) => Record<string, unknown>) => Promise<void>
  worker: (env?: Record<string, string>) => Promise<SpawnedGateway>
  /** Does not wait until it has started. */
  launchWorker: (env?: Record<string, string>) => Running
  /** Another one of the same settings: with a PORT of its own, in the place of one that was killed. */
  launchApi: () => Running
  /** Waits until this worker is in the middle of sending something, and posts more when there is nothing left. */
  sending: (worker: { pid: number }, patienceMs?: number) => Promise<void>
  /** Waits until nothing moves by itself any more, and answers how many seconds that took. */
  drained: (patienceSeconds?: number) => Promise<number>
}

export type DeploymentOptions = {
  redis?: boolean
  companies?: number
  env?: Record<string, string>
  /** Instead of a clone on the run's own server. */
  databaseUrl?: string
  /** Puts something between the gateway's processes and the services: answers the settings that lead there. */
  between?: (urls: { database: string; redis: string; ses: string }) => Promise<Record<string, string>>
}

const LINES_OF_LOG = 8
const FROM = 'shop@example.com'

/** Everything as in production, each in its own process: api, workers, Postgres, Redis, and the provider with its log. */
export async function startDeployment(context: TestContext, options: DeploymentOptions = {}): Promise<Deployment> {
  const undo: (() => unknown)[] = []
  context.onTestFinished(async () => {
    for (const one of undo.toReversed()) await one()
  })
  const folder = await makeTestFolder()
  undo.push(() => rm(folder, { recursive: true, force: true }))
  const database = options.databaseUrl ? null : await createTestDatabase()
  if (database) undo.push(() => database.drop())
  const databaseUrl = options.databaseUrl ?? database!.url
  const db = openDatabase(databaseUrl, () => {})
  undo.push(() => db.close())
  const ses = await spawnFakeSes({ logFile: join(folder, 'accepted.log') })
  undo.push(() => ses.kill())
  const redis = options.redis ? await startRedis() : null
  if (redis) undo.push(() => redis.close())
  const pepper = randomBytes(32).toString('hex')
  const urls = { database: databaseUrl, redis: redis?.url ?? '', ses: ses.url }
  const env = {
    ...settings(urls.database, urls.ses, urls.redis, pepper),
    ...options.env,
    ...(await options.between?.(urls)),
  }

  function track<G extends Running>(gateway: G): G {
    let ended = false
    context.onTestFailed(() => {
      const said = `${gateway.output()}${gateway.errors()}`.split('\n').filter(line => !/"level":"info"/.test(line))
      if (said.length > 1) console.log(`pid ${gateway.pid} said\n${said.slice(-LINES_OF_LOG).join('\n')}`)
    })
    void gateway.exited.then(() => (ended = true))
    undo.push(async () => {
      if (!ended) gateway.signal('SIGKILL')
      await gateway.exited
    })
    return gateway
  }

  const companies: Company[] = []
  async function addCompany({
    name = `company-${companies.length + 1}`,
    ...change
  }: CompanyChange & { name?: string } = {}) {
    const { company, apiKey } = await registerCompany(db, pepper, { name, ...change })
    const made = { companyId: company.companyId, apiKey, name, weight: change.weight ?? 1 }
    companies.push(made)
    return made
  }
  for (let made = 0; made < (options.companies ?? 3); made++) await addCompany()
  const api = track(await spawnGateway({ env, role: 'api' }))
  const accepted = new Set<string>()
  const refused: Answer[] = []
  let turn = 0

  async function post(count: number, change: (index: number) => Record<string, unknown> = () => ({})): Promise<void> {
    for (let from = 0; from < count; from += 100) {
      const company = companies[turn++ % companies.length]!
      const bodies = Array.from({ length: Math.min(100, count - from) }, (_, n) => ({
        to: `r${from + n}@example.com`,
        subject: `Mail ${from + n}`,
        text: 'It works.',
        onUnknown: n % 2 === 0 ? 'hold' : 'resend',
        tags: [`company:${company.name}`],
        ...change(from + n),
      }))
      const answer = await call(api.url, company, 'POST', '/v1/email/batch', bodies).catch(error => error as Error)
      if (answer instanceof Error) throw answer
      if (answer.status !== 202) refused.push(answer)
      else for (const one of answer.body.data) accepted.add(one.outboxId)
    }
  }

  return {
    db,
    ses,
    redis,
    api,
    companies,
    accepted,
    refused,
    addCompany,
    post,
    worker: async own => track(await spawnGateway({ env: { ...env, ...own }, role: 'worker' })),
    launchWorker: own => track(launchGateway({ env: { ...env, ...own }, role: 'worker' })),
    launchApi: () => track(launchGateway({ env, role: 'api' })),
    async sending(worker, patienceMs = 30_000) {
      const asked = Date.now()
      for (let ask = 1; !(await isSending(db, worker.pid)); ask++) {
        if (Date.now() - asked > patienceMs) throw new Error(`${worker.pid} sends nothing.`)
        if (ask % 20 === 0) await post(50)
        await sleep(20)
      }
    },
    drained: seconds => drained(db, seconds),
  }
}

function settings(databaseUrl: string, sesUrl: string, redisUrl: string, pepper: string): Record<string, string> {
  return {
    PORT: '0',
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    ENCRYPTION_KEY: randomBytes(32).toString('hex'),
    HASH_PEPPER: pepper,
    // The SDK's word about the next version of Node would hide what the gateway says.
    NODE_NO_WARNINGS: '1',
    EMAIL_PROVIDER: 'ses',
    EMAIL_FROM: FROM,
    AWS_REGION: 'us-east-1',
    AWS_ENDPOINT_URL_SESV2: sesUrl,
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    SEND_RATE_PER_SECOND: '100000',
    WORKER_CONCURRENCY: '50',
    LEASE_SECONDS: '5',
    UNKNOWN_GRACE_SECONDS: '1',
  }
}

async function isSending({ pool }: Database, pid: number): Promise<boolean> {
  const started = `select from email_outbox o join leases l using (lease_id) where o.status = 'PROCESSING' and l.holder like $1`
  return (await pool.query(started, [`%:${pid}`])).rowCount! > 0
}

/** A hold that nobody resolves stays UNKNOWN for a day: that is its end here. */
async function drained({ pool }: Database, patienceSeconds = FULL ? 240 : 60): Promise<number> {
  const started = Date.now()
  const open = `select status, count(*)::int from email_outbox where status in ('PENDING', 'PROCESSING', 'RETRY_SCHEDULED')
    or (status = 'UNKNOWN' and on_unknown = 'resend') group by status`
  await until(
    async () => (await pool.query(open)).rows,
    rows => rows.length === 0,
    patienceSeconds * 1000,
  )
  return (Date.now() - started) / 1000
}

type Lane = [lane: string, redis: boolean]
const BULLMQ: Lane = ['BullMQ', true]
export const LANES: Lane[] = [['direct', false], BULLMQ]

/** For faults that meet both lanes alike: the short edition tries the one that has more parts to fail. */
export const LANES_IN_FULL = edition([BULLMQ], LANES)
