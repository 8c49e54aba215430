import { z } from 'zod'
import { listCounters } from '../db/counters.ts'
import { readHealth } from '../db/health.ts'
import type { Database } from '../db/pool.ts'
import { listProviders } from '../db/providers.ts'
import { readWebhookBacklog } from '../db/webhook-deliveries.ts'
import { type MetricsSnapshot, makeMetrics } from '../telemetry/metrics.ts'
import type { App } from './app.ts'
import { problemAnswers } from './openapi.ts'
import { Problem } from './problem.ts'

const healthSchema = z.object({ status: z.literal('ok') })
const open = { tags: ['Operations'], security: [] }

async function snapshot(db: Database, names: string[]): Promise<MetricsSnapshot> {
  const [health, counters, rows, webhooks] = await Promise.all([
    readHealth(db.pool),
    listCounters(db.pool),
    listProviders(db.pool, names),
    readWebhookBacklog(db.pool),
  ])
  return { ...health, counters, webhooks, providers: rows.map(row => ({ name: row.name, open: row.state === 'open' })) }
}

export function operationRoutes(app: App, { db, providers }: { db: Database; providers: string[] }): void {
  const metrics = makeMetrics(() => snapshot(db, providers))

  app.get('/', { schema: { hide: true } }, async (_request, reply) => reply.redirect('/docs'))

  app.get(
    '/health/live',
    { schema: { summary: 'The process answers', ...open, response: { 200: healthSchema } } },
    async () => ({ status: 'ok' as const }),
  )

  app.get(
    '/health/ready',
    { schema: { summary: 'It can accept e-mails', ...open, response: { 200: healthSchema, ...problemAnswers(503) } } },
    async () => {
      try {
        await db.pool.query('select 1')
        return { status: 'ok' as const }
      } catch {
        throw new Problem('DATABASE_UNAVAILABLE', { headers: { 'retry-after': '1' } })
      }
    },
  )

  app.get(
    '/metrics',
    {
      schema: {
        summary: 'For Prometheus',
        ...open,
        produces: ['text/plain'],
        response: { 200: z.string(), ...problemAnswers(503) },
      },
    },
    async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()),
  )
}
