import { listCompanies } from '../../companies/companies.ts'
import { listStandings } from '../../companies/reputation.ts'
import { type Command, type Reading, withStorageToRead } from '../../console/command.ts'
import { readImbalance } from '../../ledger/ledger.ts'
import { readInbox } from '../../outbox/provider-events.ts'
import { readAlteredFunctions } from '../../platform/postgres/migrate.ts'
import { listProviders } from '../../providers/state.ts'
import { readInUse } from '../../settings/processes.ts'
import {
  checkAutovacuum,
  checkClock,
  checkConnections,
  checkDatabase,
  checkDisk,
  checkDurability,
  checkFunctions,
  checkIdleTransactions,
  checkLocks,
  checkPartitions,
  checkRole,
  checkSessions,
  findIdleTransaction,
  findLongestLockWait,
  readDisk,
  readRole,
  readServerFacts,
  readSession,
} from './database.ts'
import { checkEvents, readEventSetup } from './events.ts'
import { probeProviders } from './probe.ts'
import { checkRedis } from './redis.ts'
import { checkProcesses, checkSecrets, checkSender, checkSettings, laneOf } from './settings.ts'
import type { NamedVerdict, Verdict } from './verdict.ts'
import {
  checkApi,
  checkBacklog,
  checkDeadLetters,
  checkInbox,
  checkLedger,
  checkProvider,
  checkStandings,
  checkWorkers,
  readHealth,
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
      const facts = await readFacts(opened, values.probe === true)
      // A verdict with a name of its own keeps it.
      const checks = CHECKS.flatMap(({ name, check }): NamedVerdict[] =>
        [check(facts)].flat().map(verdict => ({ name, ...verdict })),
      )
      const lines = checks.map(({ name, state, detail }) => `${MARK[state]}  ${name.padEnd(10)}  ${detail}`)
      const hasFailed = checks.some(({ state }) => state === 'failed')
      return { json: { healthy: !hasFailed, checks }, lines, exitCode: hasFailed ? 1 : 0 }
    }),
}

const MARK = { ok: 'ok     ', warning: 'warning', failed: 'FAILED ' }

type Facts = Awaited<ReturnType<typeof readFacts>>

/** In the order in which they are printed. A check that does not apply finds nothing. */
const CHECKS: { name: string; check: (facts: Facts) => Verdict | Verdict[] }[] = [
  { name: 'settings', check: ({ inUse, config }) => checkSettings(inUse, config) },
  { name: 'sender', check: ({ inUse }) => checkSender(inUse) },
  { name: 'secrets', check: ({ secrets }) => secrets },
  { name: 'database', check: ({ health, server, where }) => checkDatabase(health, server, where) },
  { name: 'functions', check: ({ alteredFunctions }) => checkFunctions(alteredFunctions) },
  { name: 'role', check: ({ role }) => checkRole(role) },
  { name: 'durability', check: ({ server }) => checkDurability(server) },
  { name: 'connections', check: ({ server, inUse }) => checkConnections(server, inUse.processes.length) },
  { name: 'autovacuum', check: ({ server }) => checkAutovacuum(server) },
  { name: 'sessions', check: ({ sessions }) => checkSessions(sessions) },
  { name: 'disk', check: ({ disk }) => checkDisk(disk) },
  { name: 'clock', check: ({ health, nowMs }) => checkClock(health.nowMs, nowMs) },
  { name: 'partitions', check: ({ health }) => checkPartitions(health) },
  { name: 'redis', check: ({ redis }) => redis },
  { name: 'processes', check: ({ inUse }) => checkProcesses(inUse.processes) },
  { name: 'api', check: ({ inUse }) => checkApi(inUse.processes) },
  { name: 'workers', check: ({ health, inUse }) => checkWorkers(health, laneOf(inUse.settings), inUse.processes) },
  { name: 'provider', check: ({ providers }) => providers.map(checkProvider) },
  { name: 'probe', check: ({ probed }) => probed },
  { name: 'backlog', check: ({ health, providers, companies }) => checkBacklog(health, providers, companies) },
  { name: 'locks', check: ({ lockWait }) => checkLocks(lockWait) },
  { name: 'locks', check: ({ idleTransaction }) => checkIdleTransactions(idleTransaction) },
  { name: 'events', check: ({ inUse, events }) => checkEvents(inUse, events) },
  { name: 'inbox', check: ({ inbox }) => checkInbox(inbox) },
  { name: 'reputation', check: ({ standings }) => checkStandings(standings) },
  { name: 'dlq', check: ({ health }) => checkDeadLetters(health) },
  { name: 'ledger', check: ({ imbalance }) => checkLedger(imbalance) },
]

async function readFacts({ config, db, where, folder }: Reading, probe: boolean) {
  const { pool, short, webhooks } = db
  const inUse = await readInUse(pool, config)
  const health = await readHealth(pool)
  const nowMs = Date.now()
  return {
    config,
    where,
    inUse,
    health,
    nowMs,
    secrets: await checkSecrets(pool, config),
    server: await readServerFacts(pool),
    alteredFunctions: await readAlteredFunctions(pool),
    role: await readRole(pool),
    sessions: await Promise.all([pool, short, webhooks].map(readSession)),
    disk: await readDisk(pool, folder),
    redis: await checkRedis(inUse, config),
    providers: await listProviders(pool, inUse.providers),
    probed: probe ? await probeProviders(inUse, config, pool) : [],
    companies: await listCompanies(pool),
    lockWait: await findLongestLockWait(pool),
    idleTransaction: await findIdleTransaction(pool),
    events: await readEventSetup(pool),
    inbox: await readInbox(pool),
    standings: await listStandings(pool),
    imbalance: await readImbalance(pool),
  }
}
