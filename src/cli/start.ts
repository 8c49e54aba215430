import { randomBytes } from 'node:crypto'
import type { Logger } from 'pino'
import { type Config, loadConfig, ROLES, type Role } from '../config.ts'
import { hashPassword, passwordMatches } from '../contracts/password.ts'
import { findAdministrator, listAdministrators, putAdministrator } from '../db/administrators.ts'
import { listCompanies } from '../db/companies.ts'
import { registerCompany } from '../db/registration.ts'
import type { Gateway } from '../main.ts'
import { openStorage, type Storage } from '../main-storage.ts'
import { makeLog } from '../telemetry/log.ts'
import { type Command, CommandFailed, text, UsageError } from './command.ts'

/** A little more than the longest attempt. */
const DRAIN_MS = 35_000

export const startCommand: Command = {
  summary: 'run the gateway',
  usage: [['start [--role api|worker|all]', 'run the gateway until SIGTERM or Ctrl-C']],
  words: 0,
  options: {
    role: { type: 'string', value: 'api|worker|all', help: 'accept e-mails, send them, or both (the default)' },
  },
  async run({ values }) {
    const role = (text(values, 'role') ?? 'all') as Role
    if (!ROLES.includes(role)) throw new UsageError('--role must be api, worker or all')
    const config = loadConfig()
    const log = makeLog({ level: config.LOG_LEVEL, pretty: process.stdout.isTTY === true })
    const signal = untilSignal(log)
    let onLost: (error: Error) => void = () => {}
    const lost = new Promise<Error>(resolve => {
      onLost = resolve
    })
    const storage = await openStorage(config, { use: 'gateway', say: line => log.info(line), onLost, log })
    let finished = false
    try {
      log.info(`Database: ${storage.where}`)
      log.info(
        `Provider: ${told(config.EMAIL_PROVIDER)}; lane: ${config.REDIS_URL ? 'bullmq' : 'direct'}; role: ${role}`,
      )
      // Loaded here: every other command starts in half the time without it.
      const { startGateway } = await import('../main.ts')
      const gateway = await startGateway(config, storage, role, log)
      if (gateway.url)
        log.info(
          `API at ${gateway.url}, documentation at ${gateway.url}/docs, captured e-mails at ${gateway.url}/admin/inbox`,
        )
      else log.info('Sending the e-mails of this database')
      for (const line of await firstStart(config, storage, gateway.url)) console.log(line)
      const reason = await Promise.race([signal, lost])
      finished = await drain(gateway, log)
      if (reason) throw new CommandFailed(`The embedded database is lost: ${reason.message}`)
    } finally {
      await storage.close()
    }
    log.info('Stopped')
    // A connection that is still being waited for must not keep the process.
    if (!finished) process.exit(0)
    return null
  },
}

const told = (providers: string[]) =>
  providers.includes('capture') ? 'capture (a local inbox, nothing leaves this machine)' : providers.join(', then ')

/** What a newcomer needs, made and shown once. */
async function firstStart(config: Config, storage: Storage, url: string): Promise<string[]> {
  const password = await ensureAdministrator(config, storage)
  const apiKey = await ensureDemoCompany(config, storage)
  if (!apiKey && !password) return []
  return [
    '',
    '  Welcome to Email Gateway. What follows is shown only this once.',
    '',
    ...(apiKey ? ['  Company         demo', `  API key         ${apiKey}`] : []),
    ...(password ? [`  Administrator   ${config.ADMIN_USER}`, `  Password        ${password}`] : []),
    ...(apiKey && url ? ['', '  Send your first e-mail:', '', ...firstCurl(url, apiKey)] : []),
    '',
  ]
}

function firstCurl(url: string, apiKey: string): string[] {
  return [
    `curl -sS ${url}/v1/email/send -H 'X-API-Key: ${apiKey}' -H 'Content-Type: application/json' \\`,
    `  -d '{"to":"maria@example.com","subject":"Hello","html":"<p>It works.</p>"}'`,
    '',
    `  and look at it: ${url}/admin/inbox`,
  ]
}

/** ADMIN_PASSWORD counts whenever it is set; without it, the embedded gateway makes one. Answers a password that was made. */
async function ensureAdministrator(config: Config, { db, alone }: Storage): Promise<string | null> {
  const { ADMIN_USER: name, ADMIN_PASSWORD: given } = config
  if (given) {
    const known = await findAdministrator(db.pool, name)
    if (!known || !(await passwordMatches(given, known.passwordHash)))
      await putAdministrator(db.pool, name, await hashPassword(given))
    return null
  }
  if (!alone || (await listAdministrators(db.pool)).length > 0) return null
  const made = randomBytes(15).toString('base64url')
  await putAdministrator(db.pool, name, await hashPassword(made))
  return made
}

async function ensureDemoCompany(config: Config, storage: Storage): Promise<string | null> {
  if (!storage.alone || (await listCompanies(storage.db.pool)).length > 0) return null
  const { apiKey } = await registerCompany(storage.db, config.hashPepper, { name: 'demo' })
  return apiKey
}

function untilSignal(log: Logger): Promise<null> {
  return new Promise(resolve => {
    const onSignal = (signal: NodeJS.Signals) => {
      log.info(`${signal}: finishing what is under way; a second signal ends at once`)
      process.on('SIGTERM', () => process.exit(1)).on('SIGINT', () => process.exit(1))
      resolve(null)
    }
    process.once('SIGTERM', onSignal).once('SIGINT', onSignal)
  })
}

/** Answers whether everything ended in time. */
async function drain(gateway: Gateway, log: Logger): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<'late'>(resolve => {
    timer = setTimeout(() => resolve('late'), DRAIN_MS)
  })
  const ended = await Promise.race([gateway.stop(), deadline])
  clearTimeout(timer)
  if (ended === 'late') log.warn('Not everything finished in time; its leases will return it')
  return ended !== 'late'
}
