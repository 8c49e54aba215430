import type { Database } from '../db/pool.ts'
import type { requireAdministrator } from './admin-auth.ts'
import type { App } from './app.ts'

export type AdminRouteDeps = { db: Database; onRequest: ReturnType<typeof requireAdministrator> }

export function adminRoutes(app: App, { onRequest }: AdminRouteDeps): void {
  app.get('/admin', { onRequest, schema: { hide: true } }, async (_request, reply) => reply.redirect('/admin/inbox'))
}
