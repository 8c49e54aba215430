import { z } from 'zod'
import type { Database } from '../db/pool.ts'
import type { App } from './app.ts'
import { problemAnswers } from './openapi.ts'
import { Problem } from './problem.ts'

const healthSchema = z.object({ status: z.literal('ok') })
const open = { tags: ['Operations'], security: [] }

export function operationRoutes(app: App, { db }: { db: Database }): void {
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
}
