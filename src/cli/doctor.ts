import type { Config } from '../config.ts'
import { type Health, readHealth, readSession } from '../db/health.ts'
import { type InboxState, readInbox } from '../db/provider-events.ts'
import { listProviders } from '../db/providers.ts'
import { type CompanyStandingRow, listStandings } from '../db/reputation.ts'
import { findSecretsProblem } from '../main-secrets.ts'
import { type Command, type Opened, withStorage } from './command.ts'

type Check = { name: string; state: 'ok' | 'warning' | 'failed'; detail: string }

const OLDEST_POSTGRES = 150_000
const CLOCK_TOLERANCE_MS = 5_000
const OLD_SECONDS = 300
const DLQ_ALERT = 10_000

/** Looks at everything the gateway leans on, and says what is wrong and what to do about it. */
export const doctorCommand: Command = {
  summary: 'check settings, database, Redis, workers and providers',
  usage: [
    ['doctor', 'check settings, database, Redis, workers, providers and backlog; exit code 1 when something is broken'],
  ],
  words: 0,
  options: {},
  run: () =>
    withStorage(
      async opened => {
        const checks = await examine(opened)
        const failed = checks.some(check => check.state === 'failed')
        return { json: { healthy: !failed, checks }, lines: checks.map(lineOf), exitCode: failed ? 1 : 0 }
      },
      { secrets: 'as they are' },
    ),
}

const MARK = { ok: 'ok     ', warning: 'warning', failed: 'FAILED ' }
const lineOf = ({ name, state, detail }: Check) => `${MARK[state]}  ${name.padEnd(10)}  ${detail}`

async function examine({ config, db, where }: Opened): Promise<Check[]> {
  const health = await readHealth(db.pool)
  return [
    {
      name: 'settings',
      state: 'ok',
      detail: `provider ${config.EMAIL_PROVIDER.join(', then ')}; lane ${laneOf(config)}`,
    },
    secretsOf(await findSecretsProblem(db.pool, config)),
    database(health, where),
    await sessions(db),
    clock(health),
    partitions(health),
    ...(await redis(config)),
    workers(health, config),
    ...(await providers(db.pool, config)),
    backlog(health),
    ...eventSettings(config),
    inboxOf(await readInbox(db.pool)),
    ...standing(await listStandings(db.pool)),
    deadLetters(health),
  ]
}

const laneOf = ({ REDIS_URL }: Config) => (REDIS_URL ? 'bullmq' : 'direct')

function secretsOf(problem: string | null): Check {
  const detail = problem ?? 'HASH_PEPPER and ENCRYPTION_KEY are those of this database'
  return { name: 'secrets', state: problem ? 'failed' : 'ok', detail }
}

function database({ version }: Health, where: string): Check {
  const name = 'database'
  const major = Math.floor(version / 10_000)
  if (version < OLDEST_POSTGRES)
    return { name, state: 'failed', detail: `${where} is Postgres ${major}; the gateway needs 15 or newer` }
  return { name, state: 'ok', detail: `${where}, version ${major}, migrated` }
}

/** The settings that every connection is given; a stock server compiles each statement without the first. */
async function sessions({ pool, hot, courier }: Opened['db']): Promise<Check> {
  const name = 'sessions'
  const found = await Promise.all([pool, hot, courier].map(readSession))
  if (found.every(({ jit, limitSeconds }) => jit === 'off' && limitSeconds > 0)) {
    const [reads, sends] = found.map(({ limitSeconds }) => limitSeconds)
    return { name, state: 'ok', detail: `JIT off; statements end after ${sends} s, reads after ${reads} s` }
  }
  const detail = `JIT is ${found.map(({ jit }) => jit).join(', ')} and statements end after ${found.map(({ limitSeconds }) => limitSeconds).join(', ')} s, although the gateway sets both: what is between it and Postgres resets settings; connect directly`
  return { name, state: 'failed', detail }
}

function clock({ nowMs }: Health): Check {
  const offMs = Math.round(Date.now() - nowMs)
  const name = 'clock'
  if (Math.abs(offMs) <= CLOCK_TOLERANCE_MS) return { name, state: 'ok', detail: `${offMs} ms from the database's` }
  const detail = `${Math.round(offMs / 1000)} s from the database's; the gateway goes by the database, but AWS refuses requests of a wrong clock: run an NTP client`
  return { name, state: 'warning', detail }
}

function partitions({ partitionsUntil, nowMs }: Health): Check {
  const name = 'partitions'
  const tomorrow = new Date(nowMs + 86_400_000).toISOString().slice(0, 10).replaceAll('-', '')
  if ((partitionsUntil ?? '') >= tomorrow)
    return { name, state: 'ok', detail: `there until ${dayOf(partitionsUntil!)}` }
  return { name, state: 'failed', detail: 'none for tomorrow; start the gateway, or run: email-gateway migrate' }
}

const dayOf = (digits: string) => digits.replace(/^(\d{4})(\d\d)(\d\d)$/, '$1-$2-$3')

async function redis(config: Config): Promise<Check[]> {
  if (!config.REDIS_URL) return []
  const name = 'redis'
  // Loaded where it is used: every other command would pay for it.
  const { checkRedisSettings, sentenceOf } = await import('../lanes/redis-settings.ts')
  try {
    const findings = await checkRedisSettings(config.REDIS_URL)
    if (findings.length === 0) return [{ name, state: 'ok', detail: 'AOF every second, noeviction' }]
    return findings.map(finding => ({ name, state: 'warning', detail: sentenceOf(finding) }))
  } catch (error) {
    return [{ name, state: 'failed', detail: `REDIS_URL cannot be reached: ${(error as Error).message}` }]
  }
}

function workers({ workers: alive, expiredLeases }: Health, config: Config): Check {
  const name = 'workers'
  if (alive.length === 0) return { name, state: 'warning', detail: 'none alive: nothing is being sent' }
  const hands = alive.reduce((sum, one) => sum + one.concurrency, 0)
  const strangers = alive.filter(one => one.lane !== laneOf(config))
  if (strangers.length > 0)
    return {
      name,
      state: 'warning',
      detail: `some work on another lane than ${laneOf(config)}: give all of them the same REDIS_URL`,
    }
  if (expiredLeases > 0)
    return { name, state: 'warning', detail: `${expiredLeases} leases are overdue: no worker is cleaning up` }
  return { name, state: 'ok', detail: `${alive.length} alive, ${hands} hands` }
}

async function providers(db: Opened['db']['pool'], config: Config): Promise<Check[]> {
  const rows = await listProviders(db, config.EMAIL_PROVIDER)
  const name = 'provider'
  return rows.map(row => {
    if (row.state === 'closed') return { name, state: 'ok', detail: `${row.name} works${rateOf(row.ratePerSecond)}` }
    const since = row.openedAt?.toISOString()
    return {
      name,
      state: 'failed',
      detail: `${row.name} parked since ${since} because of ${row.reasonCode}: ${row.reason}; ${nextTry(row.probeInMs)}`,
    }
  })
}

function nextTry(inMs: number | null): string {
  return inMs === null || inMs <= 0 ? 'it is tried again now' : `it is tried again in ${Math.ceil(inMs / 1000)} s`
}

const rateOf = (rate: number | null) => (rate === null ? '' : `, ${rate} recipients per second`)

function backlog({ waiting, oldestWaitingSeconds, unknown }: Health): Check {
  const oldest = oldestWaitingSeconds === null ? '' : `, the oldest for ${Math.round(oldestWaitingSeconds)} s`
  const detail = `${waiting} ready${oldest}; ${unknown} of unknown outcome`
  return { name: 'backlog', state: (oldestWaitingSeconds ?? 0) > OLD_SECONDS ? 'warning' : 'ok', detail }
}

/** Without them SENT is the last that is ever known of an e-mail, and nothing suppresses. */
function eventSettings(config: Config): Check[] {
  const name = 'events'
  const missing: Check[] = []
  const uses = (provider: string) => config.EMAIL_PROVIDER.some(entry => entry.split(':')[0] === provider)
  const say = (setting: string, what: string) =>
    missing.push({ name, state: 'warning', detail: `${setting} is not set: ${what}` })
  if (uses('ses') && !config.SNS_TOPIC_ARNS)
    say('SNS_TOPIC_ARNS', 'bounces and complaints of Amazon SES are not heard of')
  if (uses('ses') && config.SNS_TOPIC_ARNS && !config.SES_CONFIGURATION_SET)
    say('SES_CONFIGURATION_SET', 'only notifications of the identity come, without Send events and tags')
  if (uses('resend') && !config.RESEND_WEBHOOK_SECRET)
    say('RESEND_WEBHOOK_SECRET', 'bounces and complaints of Resend are not heard of')
  const unsigned = (config.SNS_TOPIC_ARNS ?? []).filter(
    arn => config.SNS_REGIONS && !config.SNS_REGIONS.includes(arn.split(':')[3]!),
  )
  if (unsigned.length > 0)
    missing.push({
      name,
      state: 'failed',
      detail: `SNS_REGIONS lacks the region of ${unsigned.join(', ')}: it is refused`,
    })
  return missing
}

function inboxOf({ waiting, oldestSeconds }: InboxState): Check {
  const oldest = oldestSeconds === null ? '' : `, the oldest for ${Math.round(oldestSeconds)} s`
  const state = (oldestSeconds ?? 0) > OLD_SECONDS ? 'warning' : 'ok'
  return { name: 'inbox', state, detail: `${waiting} provider events to process${oldest}` }
}

function standing(companies: CompanyStandingRow[]): Check[] {
  return companies.flatMap(({ name: company, warnReason, pausedAt, pauseReason, pausedBy }): Check[] => {
    const name = 'reputation'
    if (pausedAt) return [{ name, state: 'warning', detail: `${company} is paused by ${pausedBy}: ${pauseReason}` }]
    return warnReason ? [{ name, state: 'warning', detail: `${company} is warned: ${warnReason}` }] : []
  })
}

function deadLetters({ deadLetters: count }: Health): Check {
  const state = count >= DLQ_ALERT ? 'warning' : 'ok'
  const letters = count === 1 ? 'dead letter' : 'dead letters'
  return { name: 'dlq', state, detail: `${count} ${letters}${state === 'ok' ? '' : ': email-gateway dlq list'}` }
}
