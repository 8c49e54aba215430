import { z } from 'zod'
import { findCaptured, listCaptured } from '../db/capture-inbox.ts'
import type { Database } from '../db/pool.ts'
import type { AdminAuth } from './admin-auth.ts'
import type { App } from './app.ts'
import { inboxPage, messagePage } from './inbox-page.ts'
import { problemAnswers } from './openapi.ts'
import { sendPage, wantsPage } from './page.ts'
import { Problem } from './problem.ts'

const listQuery = z.object({ limit: z.coerce.number().int().min(1).max(200).default(50) })

export type AdminRouteDeps = {
  db: Database
  onRequest: AdminAuth['authorize']
  isStillSignedIn: AdminAuth['isStillSignedIn']
}

/** The inbox of the capture provider. */
export function adminRoutes(app: App, { db, onRequest }: AdminRouteDeps): void {
  const security = [{ administrator: [] }]

  app.get(
    '/admin/inbox',
    {
      onRequest,
      // The content of a message may spell an address in ways that no mask finds.
      config: { clear: true },
      schema: {
        summary: 'What capture kept, newest first',
        tags: ['Admin'],
        security,
        querystring: listQuery,
        response: problemAnswers(401, 422, 429, 503),
      },
    },
    async (request, reply) => {
      const { limit } = request.query as z.output<typeof listQuery>
      const rows = await listCaptured(db.pool, limit)
      return wantsPage(request, reply) ? sendPage(reply, inboxPage(rows)) : { data: rows }
    },
  )

  app.get(
    '/admin/inbox/:messageId',
    {
      onRequest,
      config: { clear: true },
      schema: {
        summary: 'One captured message',
        tags: ['Admin'],
        security,
        params: z.object({ messageId: z.string().max(100) }),
        response: problemAnswers(401, 404, 429, 503),
      },
    },
    async (request, reply) => {
      const { messageId } = request.params as { messageId: string }
      const row = messageId.includes('\0') ? null : await findCaptured(db.pool, messageId)
      if (!row) throw new Problem('NOT_FOUND')
      return wantsPage(request, reply) ? sendPage(reply, messagePage(row)) : row
    },
  )
}
