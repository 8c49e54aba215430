import type { onRequestAsyncHookHandler } from 'fastify'
import type { Database } from '../platform/postgres/pool.ts'

/** What every file with admin routes needs. `onRequest` asks for a login (admins/authorize.ts). */
export type AdminRouteDeps = {
  db: Database
  onRequest: onRequestAsyncHookHandler
}
