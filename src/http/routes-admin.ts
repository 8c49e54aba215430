import type { Database } from '../db/pool.ts'
import type { AdminAuth } from './admin-auth.ts'

export type AdminRouteDeps = {
  db: Database
  onRequest: AdminAuth['authorize']
  isStillSignedIn: AdminAuth['isStillSignedIn']
}
