import type { Database } from '../db/pool.ts'
import type { AdminAuth } from './admin-auth.ts'

/** What every file with admin routes needs. */
export type AdminRouteDeps = {
  db: Database
  onRequest: AdminAuth['authorize']
}
