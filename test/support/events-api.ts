import { pino } from 'pino'
import { composeProviderEvents } from '../../src/pipeline/feedback/compose.ts'
import { providerEventRoutes } from '../../src/pipeline/feedback/routes.ts'
import { ensurePartitions } from '../../src/platform/postgres/partitions.ts'
import { type Database, openDatabase } from '../../src/platform/postgres/pool.ts'
import { loadConfig } from '../../src/settings/config.ts'
import { type App, baseApp } from '../../src/web/server.ts'
import { createTestDatabase } from './postgres.ts'

type EventsApiAnswer = {
  status: number
  headers: Record<string, unknown>
  body: { code?: string; processed?: boolean; confirmed?: boolean; detail?: string }
}

export type EventsApi = {
  db: Database
  app: App
  /** As SNS posts it, without a socket: a thousand take seconds. */
  post: (body: unknown, headers?: Record<string, string>, path?: string) => Promise<EventsApiAnswer>
  /** Writes the figures that are kept in memory. */
  close: () => Promise<void>
}

export type TestDatabase = Awaited<ReturnType<typeof createTestDatabase>>

/** The routes for provider events on a database of their own, and nothing else of the gateway. */
export async function openEventsApi(env: Record<string, string>, kept?: TestDatabase): Promise<EventsApi> {
  const database = kept ?? (await createTestDatabase())
  const db = openDatabase(database.url, () => {})
  await ensurePartitions(db.pool)
  const secrets = { ENCRYPTION_KEY: 'ab'.repeat(32), HASH_PEPPER: 'pepper '.repeat(8) }
  const config = loadConfig({ DATABASE_URL: database.url, ...secrets, ...env })
  const log = pino({ level: 'silent' })
  const events = composeProviderEvents(config, db, () => {}, log)
  const app = baseApp({ log, trustProxy: false })
  await app.register(async routes => providerEventRoutes(routes, events.deps))
  return {
    db,
    app,
    async post(body, headers = {}, path = '/webhooks/ses') {
      const payload = typeof body === 'string' ? body : JSON.stringify(body)
      const type = { 'content-type': 'text/plain; charset=UTF-8' }
      const answer = await app.inject({ method: 'POST', url: path, headers: { ...type, ...headers }, payload })
      return { status: answer.statusCode, headers: answer.headers, body: answer.json() }
    },
    async close() {
      await app.close()
      await events.close()
      await db.close()
      if (!kept) await database.drop()
    },
  }
}
