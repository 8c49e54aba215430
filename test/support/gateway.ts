import { Writable } from 'node:stream'
import { createKey, registerCompany } from '../../src/companies/changes.ts'
import type { CompanyChange } from '../../src/companies/companies.ts'
import type { KeyMode } from '../../src/companies/keys.ts'
import { openStorage } from '../../src/console/storage.ts'
import { startGateway } from '../../src/main.ts'
import type { Database } from '../../src/platform/postgres/pool.ts'
import { makeLog } from '../../src/platform/telemetry/log.ts'
import { loadConfig, type Role } from '../../src/settings/config.ts'
import type { Scope } from '../../src/web/access.ts'
import { createTestDatabase } from './postgres.ts'
import { SHARED_SECRETS } from './secrets.ts'

export type TestCompany = { companyId: string; name: string; apiKey: string; keyId: string }

export type TestGateway = {
  url: string
  smtpPort: number | null
  metricsUrl: string | null
  db: Database
  databaseUrl: string
  /** Every log line so far, as text. */
  logs: () => string
  setLogLevel: (level: string) => void
  company: (change?: CompanyChange & { name?: string }) => Promise<TestCompany>
  key: (companyId: string, options: { mode?: KeyMode; scopes?: Scope[] }) => Promise<{ keyId: string; apiKey: string }>
  /** A JSON request with the company's key. */
  call: (
    company: { apiKey: string } | null,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ) => Promise<Answer>
  stop: () => Promise<void>
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every form
export type Answer = { status: number; headers: Headers; body: any; text: string }

/** The whole gateway in this process, on a database of its own, on a free port. */
export async function startTestGateway(
  options: { role?: Role; env?: Record<string, string> } = {},
): Promise<TestGateway> {
  const database = await createTestDatabase()
  const config = loadConfig({
    DATABASE_URL: database.url,
    PORT: '0',
    ...SHARED_SECRETS,
    ...options.env,
  })
  const lines: string[] = []
  const destination = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk))
      done()
    },
  })
  const log = makeLog({ level: 'trace', pretty: false, destination })
  const storage = await openStorage(config, { use: 'gateway', logInfo: () => {}, onLost: () => {}, log })
  const gateway = await startGateway(config, storage, options.role ?? 'all', log)
  let made = 0
  return {
    url: gateway.url,
    smtpPort: gateway.smtpPort,
    metricsUrl: gateway.metricsUrl,
    db: storage.db,
    databaseUrl: database.url,
    logs: () => lines.join(''),
    setLogLevel(level) {
      log.level = level
    },
    async company({ name = `company-${++made}`, ...change } = {}) {
      const { company, apiKey, keyId } = await registerCompany(storage.db, config.hashPepper, { name, ...change })
      return { companyId: company.companyId, name, apiKey, keyId }
    },
    key: (companyId, key) => createKey(storage.db.pool, config.hashPepper, { companyId, ...key }),
    call: (company, method, path, body, headers) => call(gateway.url, company, method, path, body, headers),
    async stop() {
      await gateway.stop()
      await storage.close()
      await database.drop()
    },
  }
}

export async function call(
  url: string,
  company: { apiKey: string } | null,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(url + path, {
    method,
    headers: {
      ...(company && { 'x-api-key': company.apiKey }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  const isJson = /[/+]json\b/.test(response.headers.get('content-type') ?? '')
  return { status: response.status, headers: response.headers, text, body: isJson && text ? JSON.parse(text) : null }
}

/** Asks again until the answer satisfies, or ten seconds are over: often at first, since each question takes time from what is waited for. */
export async function until<T>(
  ask: () => Promise<T>,
  satisfied: (value: T) => boolean,
  patienceMs = 10_000,
): Promise<T> {
  const startedMs = Date.now()
  for (;;) {
    const value = await ask()
    if (satisfied(value)) return value
    const waitedMs = Date.now() - startedMs
    if (waitedMs > patienceMs) throw new Error(`still not so after ${patienceMs} ms: ${JSON.stringify(value)}`)
    await new Promise(resolve => setTimeout(resolve, Math.min(Math.max(waitedMs / 10, 15), 250)))
  }
}
