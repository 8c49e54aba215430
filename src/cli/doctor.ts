import { findSecretsProblem } from '../compose/secrets.ts'
import { findConfiguredSecrets, type ReadingConfig } from '../config.ts'
import { rateAfter } from '../contracts/slowdown.ts'
import { type CompanyStandingRow, listStandings } from '../db/companies/reputation.ts'
import { findDiskProblem, freeBytes, NEEDED_BYTES } from '../db/embedded/index.ts'
import { type InboxState, readInbox } from '../db/feedback/provider-events.ts'
import { findLongestLockWait, type Health, readHealth, readSession } from '../db/health.ts'
import { listProviders, type ProviderRow } from '../db/providers.ts'
import { type Command, type Reading, withStorageToRead } from './command.ts'
import type { Check } from './doctor-check.ts'
import { locksOf } from './doctor-locks.ts'
import { probeChecks } from './doctor-probe.ts'
import { eventChecks, laneOf, processChecks, redisChecks, settingsChecks } from './doctor-settings.ts'
import { readInUse } from './in-use.ts'
import { counted } from './plural.ts'

const OLDEST_POSTGRES = 150_000
const CLOCK_TOLERANCE_MS = 5_000
const OLD_SECONDS = 300
const LOW_DISK_MEGABYTES = 1_024
const DLQ_ALERT = 10_000

export const doctorCommand: Command = {
  usage: [
    [
      'doctor [--probe]',
      'check settings, database, Redis, workers, providers and backlog; exit code 1 when a check fails',
    ],
  ],
  words: 0,
  options: { probe: { type: 'boolean', help: 'also connect to the providers and authenticate; nothing is sent' } },
  run: ({ values }) =>
    withStorageToRead(async opened => {
      const checks = await examine(opened, values.probe === true)
      const failed = checks.some(check => check.state === 'failed')
      return { json: { healthy: !failed, checks }, lines: checks.map(lineOf), exitCode: failed ? 1 : 0 }
    }),
}

const MARK = { ok: 'ok     ', warning: 'warning', failed: 'FAILED ' }
const lineOf = ({ name, state, detail }: Check) => `${MARK[state]}  ${name.padEnd(10)}  ${detail}`

async function examine({ config, db, where, folder }: Reading, probe: boolean): Promise<Check[]> {
  const health = await readHealth(db.pool)
  const inUse = await readInUse(db.pool, config)
  return [
    ...settingsChecks(inUse, config),
    await secretsOf(db.pool, config),
    database(health, where),
    await sessions(db),
    ...(await diskOf(folder)),
    clock(health),
    partitions(health),
    ...(await redisChecks(inUse, config)),
    ...processChecks(inUse.processes),
    workers(health, laneOf(inUse.settings)),
    ...(await providers(db.pool, inUse.providers)),
    ...(probe ? await probeChecks(inUse.providers, config) : []),
    backlog(health),
    locksOf(await findLongestLockWait(db.pool)),
    ...eventChecks(inUse),
    inboxOf(await readInbox(db.pool)),
    ...standing(await listStandings(db.pool)),
    deadLetters(health),
  ]
}

async function secretsOf(db: Reading['db']['pool'], config: ReadingConfig): Promise<Check> {
  const { found, missing } = findConfiguredSecrets(config)
  if (!found)
    return { name: 'secrets', state: 'warning', detail: `not checked: ${missing.join(' and ')} not set in this shell` }
  const problem = await findSecretsProblem(db, { ...config, ...found })
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

/** Whether the session settings arrive: with JIT on, as by default, Postgres would compile every statement. */
async function sessions({ pool, hot, webhooks }: Reading['db']): Promise<Check> {
  const name = 'sessions'
  const found = await Promise.all([pool, hot, webhooks].map(readSession))
  if (found.every(({ jit, limitSeconds }) => jit === 'off' && limitSeconds > 0)) {
    const [reads, sends] = found.map(({ limitSeconds }) => limitSeconds)
    return { name, state: 'ok', detail: `JIT off; statements end after ${sends} s, reads after ${reads} s` }
  }
  const detail = `JIT is ${found.map(({ jit }) => jit).join(', ')} and statements end after ${found.map(({ limitSeconds }) => limitSeconds).join(', ')} s, although the gateway sets both: a connection pooler between it and Postgres resets them; connect directly`
  return { name, state: 'failed', detail }
}

/** For the embedded database only: the disk of another server is not visible from here. */
async function diskOf(folder: string | null): Promise<Check[]> {
  if (!folder) return []
  const name = 'disk'
  const problem = await findDiskProblem(folder, NEEDED_BYTES)
  if (problem) return [{ name, state: 'failed', detail: problem }]
  const megabytes = Math.floor((await freeBytes(folder)) / (1024 * 1024))
  const state = megabytes < LOW_DISK_MEGABYTES ? 'warning' : 'ok'
  return [{ name, state, detail: `${megabytes} MB free for ${folder}` }]
}

function clock({ nowMs }: Health): Check {
  const offMs = Math.round(Date.now() - nowMs)
  const name = 'clock'
  if (Math.abs(offMs) <= CLOCK_TOLERANCE_MS) return { name, state: 'ok', detail: `${offMs} ms from the database's` }
  const detail = `${Math.round(offMs / 1000)} s from the database's; the gateway uses the database's clock, but AWS refuses requests from a wrong clock: run an NTP client`
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

function workers({ workers: alive, expiredLeases }: Health, lane: string): Check {
  const name = 'workers'
  if (alive.length === 0) return { name, state: 'warning', detail: 'none alive: nothing is being sent' }
  const slots = alive.reduce((sum, one) => sum + one.concurrency, 0)
  const onOtherLane = alive.filter(one => one.lane !== lane)
  if (onOtherLane.length > 0)
    return {
      name,
      state: 'warning',
      detail: `some use another lane than ${lane}: set the same REDIS_URL for all of them`,
    }
  if (expiredLeases > 0)
    return {
      name,
      state: 'warning',
      detail: `${counted(expiredLeases, 'lease')} expired: no worker is running housekeeping`,
    }
  return { name, state: 'ok', detail: `${alive.length} alive, concurrency ${slots}` }
}

async function providers(db: Reading['db']['pool'], inUse: string[]): Promise<Check[]> {
  const rows = await listProviders(db, inUse)
  const name = 'provider'
  return rows.map(row => {
    if (row.state === 'closed')
      return { name, state: 'ok', detail: `${row.name} is not parked${rateOf(row.ratePerSecond)}${slowedTo(row)}` }
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

/** The reduced send rate after the provider throttled; it recovers by itself. */
function slowedTo({ slowFrom, slowTo, slowedAgoMs }: ProviderRow): string {
  const rate = slowedAgoMs === null ? null : rateAfter({ from: slowFrom!, to: slowTo!, agoMs: slowedAgoMs })
  if (rate === null) return ''
  return `; it throttled ${Math.round(slowedAgoMs! / 1000)} s ago, so at most ${rate.toPrecision(2)} a second for now`
}

const rateOf = (rate: number | null) => (rate === null ? '' : `, ${rate} recipients per second`)

function backlog({ waiting, oldestWaitingSeconds, unknown }: Health): Check {
  const oldest = oldestWaitingSeconds === null ? '' : `, the oldest for ${Math.round(oldestWaitingSeconds)} s`
  const detail = `${waiting} ready${oldest}; ${unknown} of unknown outcome`
  return { name: 'backlog', state: (oldestWaitingSeconds ?? 0) > OLD_SECONDS ? 'warning' : 'ok', detail }
}

function inboxOf({ waiting, oldestSeconds }: InboxState): Check {
  const oldest = oldestSeconds === null ? '' : `, the oldest for ${Math.round(oldestSeconds)} s`
  const state = (oldestSeconds ?? 0) > OLD_SECONDS ? 'warning' : 'ok'
  return { name: 'inbox', state, detail: `${counted(waiting, 'provider event')} to process${oldest}` }
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
  return {
    name: 'dlq',
    state,
    detail: `${counted(count, 'dead letter')}${state === 'ok' ? '' : ': email-gateway dlq list'}`,
  }
}
