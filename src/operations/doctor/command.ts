import { listCompanies } from '../../companies/companies.ts'
import { listStandings } from '../../companies/reputation.ts'
import { type Command, type Reading, withStorageToRead } from '../../console/command.ts'
import { readImbalance } from '../../ledger/ledger.ts'
import { findIdleTransaction, findLongestLockWait, readHealth } from '../../outbox/health.ts'
import { readInbox } from '../../outbox/provider-events.ts'
import { hasDiskSpace } from '../../platform/postgres/disk-space.ts'
import { findDiskProblem, freeBytes, NEEDED_BYTES } from '../../platform/postgres/embedded/index.ts'
import { readAlteredFunctions } from '../../platform/postgres/migrate.ts'
import { listProviders } from '../../providers/state.ts'
import { findConfiguredSecrets, type ReadingConfig } from '../../settings/config.ts'
import { readInUse } from '../../settings/processes.ts'
import { findSecretsProblem } from '../../settings/secrets-of-database.ts'
import {
  autovacuumOf,
  clockOf,
  connectionsOf,
  databaseOf,
  diskOf,
  durabilityOf,
  functionsOf,
  idleTransactionsOf,
  locksOf,
  partitionsOf,
  readRole,
  readServerFacts,
  readSessions,
  roleOf,
  serverDiskOf,
  sessionsOf,
} from './database.ts'
import { eventChecks, readEventSetup } from './events.ts'
import { probeChecks } from './probe.ts'
import { redisChecks } from './redis.ts'
import { laneOf, processChecks, senderChecks, settingsChecks } from './settings.ts'
import {
  apisOf,
  backlogOf,
  deadLettersOf,
  inboxOf,
  isSlow,
  ledgerOf,
  providerOf,
  standingsOf,
  workersOf,
} from './work.ts'

export const doctorCommand: Command = {
  usage: [
    [
      'doctor [--probe]',
      'check settings, database, Redis, workers, providers and backlog, with what mends it; exit code 1 when a check fails',
    ],
  ],
  words: 0,
  options: {
    probe: { type: 'boolean', help: 'also ask the providers: login, account, domains, events; nothing is sent' },
  },
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
  const server = await readServerFacts(db.pool)
  const inUse = await readInUse(db.pool, config)
  const providers = await listProviders(db.pool, inUse.providers)
  return [
    ...settingsChecks(inUse, config),
    ...senderChecks(inUse),
    await secretsOf(db.pool, config),
    databaseOf(health, server, where),
    ...functionsOf(await readAlteredFunctions(db.pool)),
    roleOf(await readRole(db.pool)),
    durabilityOf(server),
    ...connectionsOf(server, inUse.processes.length),
    autovacuumOf(server),
    sessionsOf(await readSessions(db)),
    folder
      ? diskOf(folder, await freeBytes(folder), await findDiskProblem(folder, NEEDED_BYTES))
      : serverDiskOf(await hasDiskSpace(db.pool)),
    clockOf(health.nowMs, Date.now()),
    partitionsOf(health),
    ...(await redisChecks(inUse, config)),
    ...processChecks(inUse.processes),
    ...apisOf(inUse.processes),
    workersOf(health, laneOf(inUse.settings), inUse.processes),
    ...providers.map(providerOf),
    ...(probe ? await probeChecks(inUse, config, db.pool) : []),
    backlogOf(health, isSlow(providers, await listCompanies(db.pool))),
    locksOf(await findLongestLockWait(db.pool)),
    ...idleTransactionsOf(await findIdleTransaction(db.pool)),
    ...eventChecks(inUse, await readEventSetup(db.pool)),
    inboxOf(await readInbox(db.pool)),
    ...standingsOf(await listStandings(db.pool)),
    deadLettersOf(health),
    ledgerOf(await readImbalance(db.pool)),
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

export type Check = { name: string; state: 'ok' | 'warning' | 'failed'; detail: string }
