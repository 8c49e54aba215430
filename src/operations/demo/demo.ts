import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Logger } from 'pino'
import { hashPassword, putAdministrator } from '../../admins/administrators.ts'
import { makeSignInLink, signInUrl } from '../../admins/sessions.ts'
import { createKey, registerCompany } from '../../companies/changes.ts'
import { listCompanies } from '../../companies/companies.ts'
import { pauseManually } from '../../companies/reputation.ts'
import { openStorage } from '../../console/storage.ts'
import { startGateway } from '../../main.ts'
import { expireWaitingEmails } from '../../outbox/expiry.ts'
import { storeProviderEvents } from '../../outbox/provider-events.ts'
import type { Database } from '../../platform/postgres/pool.ts'
import { hashEmail } from '../../platform/text/hashing.ts'
import { makeProviders } from '../../providers/providers.ts'
import { makeCapture } from '../../providers/table.ts'
import { type Config, loadConfig } from '../../settings/config.ts'
import { addSuppressions } from '../../suppression/list.ts'
import { WEBHOOK_EVENT_TYPES } from '../../webhooks/events.ts'
import { DEMO_COMPANIES, OLD_LIST_DOMAIN, PAUSED_COMPANY, somebody } from './companies.ts'
import { sesEvent, simulatedProvider } from './simulated-provider.ts'
import {
  ageDemoPause,
  ageDemoSetup,
  enqueueDemoExpiry,
  enqueueDemoFailure,
  putDemoHistory,
  spreadDemoSuppressions,
  type WaitedEmail,
} from './stored.ts'
import { type DemoSender, startTraffic } from './traffic.ts'

const PROVIDERS = ['ses:us-east-1', 'ses:eu-west-1']
/** The first provider is down for a while, again and again; then the second one carries the mail. */
const OUTAGE = { provider: PROVIDERS[0], firstAfterMs: 25_000, everyMs: 420_000, lastsMs: 45_000 }

type DemoOptions = { dataDir: string; port: number; password: string; log: Logger; random?: () => number }
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

type DemoEndpoint = { url: string; close: () => Promise<void> }

/** The other side of the webhooks: /well answers 200; /badly answers 500 to one in three. */
async function startDemoEndpoint(random: () => number): Promise<DemoEndpoint> {
  const server = createServer((request, response) => {
    const fails = request.url === '/badly' && random() < 0.33
    request.resume().on('end', () => {
      response.writeHead(fails ? 500 : 200, { 'content-type': 'text/plain' }).end(fails ? 'out of order' : 'thank you')
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** About as many as the history has bounces and complaints. */
const SUPPRESSIONS = 6_000
const BY = 'demo'
/** Of what was sent. Those of the old list are above the limit of complaints, so that the company is warned. */
const RATES = { bounceRate: 0.006, complaintRate: 0.0002 }
const RATES_OF_OLD_LIST = { bounceRate: 0.02, complaintRate: 0.003 }

/** Companies with their history, and suppressions, unless they are there from an earlier run; and a key for each company. */
async function seedDatabase(db: Database, pepper: string, random: () => number): Promise<DemoSender[]> {
  const known = new Map((await listCompanies(db.pool)).map(({ name, companyId }) => [name, companyId]))
  const senders: DemoSender[] = []
  for (const company of DEMO_COMPANIES) {
    const companyId = known.get(company.name)
    if (companyId) senders.push({ company, companyId, ...(await createKey(db.pool, pepper, { companyId, name: BY })) })
    else {
      const made = await registerCompany(db, pepper, { name: company.name, ...company.settings })
      await putDemoHistory(db.pool, {
        companyId: made.company.companyId,
        share: company.share,
        types: company.mail.map(mail => mail.templateType),
        ...(company.domain === OLD_LIST_DOMAIN ? RATES_OF_OLD_LIST : RATES),
      })
      senders.push({ company, companyId: made.company.companyId, apiKey: made.apiKey })
    }
  }
  if (known.size === 0) await seedSuppressions(db, senders, random)
  return senders
}

async function seedSuppressions(db: Database, senders: DemoSender[], random: () => number): Promise<void> {
  const entries = Array.from({ length: SUPPRESSIONS }, (_, n) => {
    const reason = n % 9 === 0 ? ('COMPLAINT' as const) : n % 5 === 0 ? ('MANUAL' as const) : ('HARD_BOUNCE' as const)
    return {
      companyId: reason === 'MANUAL' ? senders[n % senders.length]!.companyId : null,
      emailHash: hashEmail(somebody(random).email),
      reason,
      expiresInDays: reason === 'HARD_BOUNCE' ? 90 : 0,
      metadata: reason === 'HARD_BOUNCE' ? { diagnosticCode: 'smtp; 550 5.1.1 user unknown' } : {},
      performedBy: reason === 'MANUAL' ? 'admin' : BY,
      ...(reason === 'MANUAL' && { justification: 'Asked by phone for no more mail' }),
    }
  })
  await addSuppressions(db.pool, entries)
  await spreadDemoSuppressions(db.pool)
}

/** What the API makes: templates and webhook endpoints. A company is paused, so that its mail waits. */
async function seedByApi(db: Database, senders: DemoSender[], client: DemoClient, endpointUrl: string): Promise<void> {
  for (const { company, apiKey } of senders) {
    for (const { templateType: type, subject, html } of company.mail)
      await client(apiKey, 'POST', '/v1/templates', { type, subject, html, publish: true })
    const path = company.name === 'Clínica Vida' ? '/badly' : '/well'
    await client(apiKey, 'POST', '/v1/webhooks', { url: endpointUrl + path, eventTypes: [...WEBHOOK_EVENT_TYPES] })
  }
  await ageDemoSetup(db.pool)
  const { companyId } = senders.find(({ company }) => company.name === PAUSED_COMPANY)!
  await pauseManually(db.pool, { companyId, reason: 'The invoice of October is open', performedBy: 'admin' })
  await ageDemoPause(db.pool, companyId)
}

/** The demo sends through the same API as everybody. */
export type DemoClient = (apiKey: string, method: string, path: string, body?: unknown) => Promise<DemoAnswer>
// biome-ignore lint/suspicious/noExplicitAny: answers of several routes
type DemoAnswer = { status: number; body: any }

function demoClient(url: string): DemoClient {
  return async (apiKey, method, path, body) => {
    const response = await fetch(url + path, {
      method,
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: await response.json().catch(() => null) }
  }
}
