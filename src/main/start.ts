import type { Logger } from 'pino'
import { type ActionInput, type Answer, CommandFailed, command, option, UsageError } from '../console/command.ts'
import { listenForStop, type StopSignal } from '../console/stop-signal.ts'
import { openStorage, type Storage } from '../console/storage.ts'
import type { Gateway } from '../main.ts'
import { unsetSender } from '../operations/doctor/settings.ts'
import { finishedWithin } from '../platform/sleep.ts'
import { makeLog } from '../platform/telemetry/log.ts'
import { programVersion } from '../platform/version.ts'
import { type Config, loadConfig, ROLES, type Role } from '../settings/config.ts'
import { isCaptureOnly, joinProcesses, type Membership, providersOfMember } from '../settings/processes.ts'
import { firstCurl, firstSignInUrl, prepareFirstUse, secretLines, secretOutput, signInLines } from './first-use.ts'

/** For running work to finish: a little more than the longest attempt. */
const DRAIN_MS = 35_000
/** For an interrupted start to reach its next step: an embedded server that is starting has to be stopped, too. */
const ABORT_START_MS = { embedded: 30_000, given: 5_000 }
/** To remove this process from the database; other processes notice its absence after some seconds anyway. */
const LEAVE_MS = 5_000
/** An embedded server writes a checkpoint before it exits. */
const CLOSE_MS = { embedded: 130_000, given: 10_000 }
/** For the last log lines. */
const EXIT_MS = 2_000

/** Whoever stops it from outside (systemd, Docker, Kubernetes) waits at least this long before killing it; a test compares. */
export const LONGEST_STOP_MS = {
  embedded: ABORT_START_MS.embedded + DRAIN_MS + LEAVE_MS + CLOSE_MS.embedded + EXIT_MS,
  given: ABORT_START_MS.given + DRAIN_MS + LEAVE_MS + CLOSE_MS.given + EXIT_MS,
}

const options = {
  role: option.parsed('api|worker|all', 'accept e-mails, send them, or both (the default)', (given): Role => {
    const role = ROLES.find(known => known === given)
    if (role === undefined) throw new UsageError('--role must be api, worker or all')
    return role
  }),
  'allow-capture': option.flag('allow e-mails that were accepted for a real provider to go to the local inbox'),
}

const notes = [
  'With --json, one JSON value is printed when the gateway runs: {"role","url","smtpPort","metricsUrl","pid"}. The log is on standard error then, as JSON lines.',
]

export const startCommand = command({ name: 'start', notes, options }, action =>
  action(
    {
      form: '[--role api|worker|all] [--allow-capture]',
      what: 'run the gateway until SIGTERM or Ctrl-C',
      options: ['role', 'allow-capture'],
      opens: 'nothing',
    },
    runGateway,
  ),
)

type StartInput = ActionInput<typeof options, [], keyof typeof options>

async function runGateway({ options, json, envFile, answerNow = () => {} }: StartInput): Promise<null> {
  const { role = 'all', 'allow-capture': allowCapture } = options
  const config = loadConfig()
  const forPeople = !json && process.stdout.isTTY === true
  const log = makeLog({ level: config.LOG_LEVEL, pretty: forPeople, fd: json ? 2 : 1 })
  if (envFile) log.info(`Settings are read from ${envFile}; variables of the environment take precedence`)
  const started: Started = {}
  const stop = listenForStop(log, async () => started.storage?.abandon())
  const starting = start({ config, role, allowCapture, log, stop, forPeople, answerNow }, started)
  try {
    const reason = await Promise.race([stop.reason, starting.then(() => stop.reason)])
    if (reason.kind === 'failed') throw reason.error
  } finally {
    const abortMs = ABORT_START_MS[config.DATABASE_URL ? 'given' : 'embedded']
    await finishedWithin(abortMs, starting).catch(() => {})
    await stopAll(started, log)
    // A pending connection must not keep the process alive.
    setTimeout(() => process.exit(), EXIT_MS).unref()
  }
  log.info('Stopped')
  return null
}

/** What has to be stopped, also when the start is interrupted or fails. */
type Started = { storage?: Storage; membership?: Membership; gateway?: Gateway }

type Starting = {
  config: Config
  role: Role
  allowCapture: boolean
  log: Logger
  stop: StopSignal
  /** Standard output is a terminal, and its reader not a program. */
  forPeople: boolean
  answerNow: (answer: Answer) => void
}

/** The steps of a start, in order. A stop request ends it after the current step. */
async function start(starting: Starting, started: Started): Promise<void> {
  const { config, role, allowCapture, log, stop, forPeople, answerNow } = starting
  const onLost = (error: Error) => stop.fail(new CommandFailed(`The embedded database is lost: ${error.message}`))
  const storage = await openStorage(config, { use: 'gateway', logInfo: line => log.info(line), onLost, log })
  started.storage = storage
  log.info(`Database: ${storage.where}`)
  log.info(
    `Provider: ${providerText(config.EMAIL_PROVIDER)}; lane: ${config.REDIS_URL ? 'bullmq' : 'direct'}; role: ${role}`,
  )
  const senderProblem = unsetSender(config.EMAIL_PROVIDER, config.EMAIL_FROM)
  if (senderProblem) log.warn(senderProblem)
  if (stop.now()) return
  const { db, onlyGateway } = storage
  const version = programVersion()
  const joining = { config, db, role, version, onlyGateway, allowCapture, onLost: stop.fail, log }
  const membership = await joinProcesses(joining)
  started.membership = membership
  // Shown before the port is opened: if a later step fails, the new API key would otherwise be lost.
  const first = await prepareFirstUse(config, storage)
  const show = secretOutput(config, first, forPeople, log)
  await show(secretLines(config, first))
  if (stop.now()) return
  // Imported here: without it, every other command starts in half the time.
  const [{ startGateway }, { makeProviders }] = await Promise.all([
    import('../main.ts'),
    import('../providers/providers.ts'),
  ])
  const captured = isCaptureOnly(config.EMAIL_PROVIDER)
  const providers = providersOfMember(makeProviders, membership)
  const gateway = await startGateway(config, storage, role, log, providers).catch(async error => {
    // The next start does not know the key any more.
    await show(firstCurl(`http://127.0.0.1:${config.PORT}`, first, captured))
    throw error
  })
  started.gateway = gateway
  await show(firstCurl(gateway.url, first, captured))
  await show(signInLines(await firstSignInUrl(config, storage, first, gateway.url)))
  const inbox = captured ? `, captured e-mails at ${gateway.url}/admin/inbox` : ''
  if (gateway.smtpPort !== null) log.info(`SMTP at ${config.HOST}:${gateway.smtpPort}`)
  if (gateway.metricsUrl) log.info(`Metrics at ${gateway.metricsUrl}/metrics`)
  if (gateway.url)
    log.info(`API at ${gateway.url}, documentation at ${gateway.url}/docs, admin UI at ${gateway.url}/admin${inbox}`)
  else log.info('Sending the e-mails of this database')
  answerNow({ json: addressesOf(gateway, role), lines: [] })
}

function addressesOf({ url, smtpPort, metricsUrl }: Gateway, role: Role) {
  return { role, url: url || null, smtpPort, metricsUrl, pid: process.pid }
}

const providerText = (providers: string[]) =>
  providers.includes('capture') ? 'capture (a local inbox, nothing leaves this machine)' : providers.join(', then ')

async function stopAll({ gateway, membership, storage }: Started, log: Logger): Promise<void> {
  const failed = (error: unknown) => log.warn({ err: error }, 'Some parts could not be stopped')
  if (gateway && !(await finishedWithin(DRAIN_MS, gateway.stop().catch(failed))))
    log.warn('Some work did not finish in time; it is recovered when its leases expire')
  if (membership) await finishedWithin(LEAVE_MS, membership.leave())
  if (storage) await finishedWithin(CLOSE_MS[storage.onlyGateway ? 'embedded' : 'given'], storage.close().catch(failed))
}
