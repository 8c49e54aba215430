import type { Logger } from 'pino'
import { joinProcesses, type Membership, providersOfMember } from '../compose/processes.ts'
import { openStorage, type Storage } from '../compose/storage.ts'
import { type Config, loadConfig, ROLES, type Role } from '../config.ts'
import { isCaptureOnly } from '../contracts/admission.ts'
import type { Gateway } from '../main.ts'
import { finishedWithin } from '../runtime/finished-within.ts'
import { makeLog } from '../telemetry/log.ts'
import { type Command, CommandFailed, text, UsageError } from './command.ts'
import { firstCurl, prepareFirstUse, secretLines, secretScreen } from './first-use.ts'
import { type StopWatch, watchForStop } from './stop-watch.ts'
import { programVersion } from './version.ts'

/** What is under way may finish in this time: a little more than the longest attempt. */
const DRAIN_MS = 35_000
/** A start that is broken off has nothing under way, but an embedded server that is just starting is to be stopped, too. */
const BREAK_OFF_MS = { embedded: 30_000, given: 5_000 }
/** To tell the database that this process is gone; it finds out by itself after some seconds. */
const LEAVE_MS = 5_000
/** An embedded server writes all it has in memory to the disk before it ends. */
const CLOSE_MS = { embedded: 130_000, given: 10_000 }
/** For the last log lines, once everything is closed. */
const EXIT_MS = 2_000

export const startCommand: Command = {
  summary: 'run the gateway',
  usage: [['start [--role api|worker|all] [--allow-capture]', 'run the gateway until SIGTERM or Ctrl-C']],
  words: 0,
  options: {
    role: { type: 'string', value: 'api|worker|all', help: 'accept e-mails, send them, or both (the default)' },
    'allow-capture': {
      type: 'boolean',
      help: 'mail that was for a real provider may go to the local inbox from now on',
    },
  },
  async run({ values, envFile }) {
    const role = (text(values, 'role') ?? 'all') as Role
    if (!ROLES.includes(role)) throw new UsageError('--role must be api, worker or all')
    const config = loadConfig()
    const log = makeLog({ level: config.LOG_LEVEL, pretty: process.stdout.isTTY === true })
    if (envFile) log.info(`Settings are read from ${envFile}; variables of the environment win`)
    const stop = watchForStop(log)
    const started: Started = {}
    const starting = start({ config, role, allowCapture: values['allow-capture'] === true, log, stop }, started)
    try {
      const reason = await Promise.race([stop.reason, starting.then(() => stop.reason)])
      if (reason.kind === 'failed') throw reason.error
    } finally {
      const breakOffMs = BREAK_OFF_MS[config.DATABASE_URL ? 'given' : 'embedded']
      await finishedWithin(breakOffMs, starting).catch(() => {})
      await stopAll(started, log)
      // A connection that is still being waited for must not keep the process.
      setTimeout(() => process.exit(), EXIT_MS).unref()
    }
    log.info('Stopped')
    return null
  },
}

/** What there is to stop, also when the start is broken off or fails half-way. */
type Started = { storage?: Storage; membership?: Membership; gateway?: Gateway }

type Starting = { config: Config; role: Role; allowCapture: boolean; log: Logger; stop: StopWatch }

/** The steps of a start, in order. A stop that is asked for meanwhile ends it after the step it is at. */
async function start({ config, role, allowCapture, log, stop }: Starting, started: Started): Promise<void> {
  const onLost = (error: Error) => stop.fail(new CommandFailed(`The embedded database is lost: ${error.message}`))
  const storage = await openStorage(config, { use: 'gateway', logInfo: line => log.info(line), onLost, log })
  started.storage = storage
  log.info(`Database: ${storage.where}`)
  log.info(`Provider: ${told(config.EMAIL_PROVIDER)}; lane: ${config.REDIS_URL ? 'bullmq' : 'direct'}; role: ${role}`)
  if (stop.now()) return
  const { db, alone } = storage
  const version = programVersion()
  const until = { stopped: stop.reason, onLost: stop.fail }
  const membership = await joinProcesses({ config, db, role, version, alone, allowCapture, ...until, log })
  if (!membership) return
  started.membership = membership
  // Shown before the port is open: a start that fails after this would otherwise have made a key that nobody knows.
  const first = await prepareFirstUse(config, storage)
  const show = secretScreen(config, process.stdout.isTTY === true, log)
  await show(secretLines(config, first))
  if (stop.now()) return
  // Loaded here: every other command starts in half the time without it.
  const [{ startGateway }, { makeProviders }] = await Promise.all([
    import('../main.ts'),
    import('../compose/providers.ts'),
  ])
  const gateway = await startGateway(config, storage, role, log, providersOfMember(makeProviders, membership))
  started.gateway = gateway
  await show(firstCurl(gateway.url, first))
  const inbox = isCaptureOnly(config.EMAIL_PROVIDER) ? `, captured e-mails at ${gateway.url}/admin/inbox` : ''
  if (gateway.url) log.info(`API at ${gateway.url}, documentation at ${gateway.url}/docs${inbox}`)
  else log.info('Sending the e-mails of this database')
}

const told = (providers: string[]) =>
  providers.includes('capture') ? 'capture (a local inbox, nothing leaves this machine)' : providers.join(', then ')

async function stopAll({ gateway, membership, storage }: Started, log: Logger): Promise<void> {
  const failed = (error: unknown) => log.warn({ err: error }, 'Not everything could be stopped')
  if (gateway && !(await finishedWithin(DRAIN_MS, gateway.stop().catch(failed))))
    log.warn('Not everything finished in time; its leases will return it')
  if (membership) await finishedWithin(LEAVE_MS, membership.leave())
  if (storage) await finishedWithin(CLOSE_MS[storage.alone ? 'embedded' : 'given'], storage.close().catch(failed))
}
