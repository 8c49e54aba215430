import type { Logger } from 'pino'
import { makeCapture } from '../compose/provider-clients.ts'
import { makeProviders } from '../compose/providers.ts'
import { openStorage } from '../compose/storage.ts'
import { type Config, loadConfig } from '../config.ts'
import { hashPassword } from '../contracts/password.ts'
import { putAdministrator } from '../db/companies/administrators.ts'
import { makeSignInLink, signInUrl } from '../db/companies/sign-in-links.ts'
import { enqueueDemoExpiry, enqueueDemoFailure, type WaitedEmail } from '../db/demo.ts'
import { storeProviderEvents } from '../db/feedback/provider-events.ts'
import { expireWaitingEmails } from '../db/outbox/expiry.ts'
import type { Database } from '../db/pool.ts'
import { startGateway } from '../main.ts'
import { demoClient } from './client.ts'
import { seedByApi, seedDatabase } from './seed.ts'
import { sesEvent } from './ses-event.ts'
import { simulatedProvider } from './simulated-provider.ts'
import { startTraffic } from './traffic.ts'
import { startDemoEndpoint } from './webhook-endpoint.ts'

const PROVIDERS = ['ses:us-east-1', 'ses:eu-west-1']
/** The first provider is down for a while, again and again; then the second one carries the mail. */
const OUTAGE = { provider: PROVIDERS[0], firstAfterMs: 25_000, everyMs: 420_000, lastsMs: 45_000 }

export type DemoOptions = { dataDir: string; port: number; password: string; log: Logger; random?: () => number }
export type Demo = {
  url: string
  /** Signs the administrator in once. */
  signInLink: string
  /** The folder of the database, which may be outside dataDir. */
  databaseFolder: string | null
  stop(): Promise<void>
  /** For an exit at once: the database is told to stop, and nobody waits for it. */
  abandon(): Promise<void>
}

/** A gateway on a database of its own, with simulated providers and traffic. It reads no setting of the environment. */
export async function startDemo({ dataDir, port, password, log, random = Math.random }: DemoOptions): Promise<Demo> {
  const config = loadConfig(demoSettings(dataDir, port))
  const stops: (() => Promise<unknown>)[] = []
  const stop = async () => {
    for (const stopPart of stops.splice(0).reverse()) await stopPart()
  }
  try {
    const onLost = (error: Error) => log.error({ err: error }, 'The database of the demo is lost')
    const storage = await openStorage(config, { use: 'gateway', logInfo: line => log.info(line), onLost, log })
    stops.push(() => storage.close())
    const { db } = storage
    await putAdministrator(db.pool, 'admin', await hashPassword(password))
    const senders = await seedDatabase(db, config.hashPepper, random)
    const gateway = await startGateway(config, storage, 'all', log, simulatedProviders(random))
    stops.push(() => gateway.stop())
    const endpoint = await startDemoEndpoint(random)
    stops.push(endpoint.close)
    const client = demoClient(gateway.url)
    await seedByApi(db, senders, client, endpoint.url)
    const access = {
      enqueueUnknownTemplate: (companyId: string, to: string) => enqueueDemoFailure(db.pool, companyId, to),
      enqueueExpiring: async (email: WaitedEmail) => {
        await enqueueDemoExpiry(db.pool, email)
        // Housekeeping looks once a minute only.
        await expireWaitingEmails(db.pool)
      },
    }
    stops.push(startTraffic(senders, client, access, random, log))
    const token = await makeSignInLink(db.pool, 'admin', 'demo')
    const signInLink = signInUrl(gateway.url, token!)
    return { url: gateway.url, signInLink, databaseFolder: storage.folder, stop, abandon: storage.abandon }
  } catch (error) {
    await stop()
    throw error
  }
}

const demoSettings = (dataDir: string, port: number) => ({
  DATA_DIR: dataDir,
  HOST: '127.0.0.1',
  PORT: String(port),
  EMAIL_PROVIDER: PROVIDERS.join(','),
  EMAIL_FROM: 'Email Gateway <demo@gateway.example>',
  // The endpoint of the demo is on this machine.
  WEBHOOK_ALLOW_PRIVATE: 'true',
})

/** In place of real clients, for every entry of EMAIL_PROVIDER. */
function simulatedProviders(random: () => number): typeof makeProviders {
  const startedMs = performance.now()
  const isOut = (name: string) => {
    const sinceMs = performance.now() - startedMs - OUTAGE.firstAfterMs
    return name === OUTAGE.provider && sinceMs >= 0 && sinceMs % OUTAGE.everyMs < OUTAGE.lastsMs
  }
  return (config: Config, db: Database, onChange, log) => {
    const capture = makeCapture(db)
    const clientOf = async (name: string) =>
      simulatedProvider({
        name,
        capture,
        random,
        isOut: () => isOut(name),
        report: (message, messageId, events) => {
          const reported = events.map(event => sesEvent(message, messageId, event))
          storeProviderEvents(db.pool, reported).catch(error => log.debug({ err: error }, 'Reported too late'))
        },
      })
    return makeProviders(config, db, onChange, log, clientOf)
  }
}
