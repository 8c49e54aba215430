import { type AdminAuthOptions, adminAuth } from './admin-auth.ts'
import { protectAdminScope } from './admin-scope.ts'
import { adminUi } from './admin-ui.ts'
import type { App } from './app.ts'
import type { AdminRouteDeps } from './routes-admin.ts'
import { adminAuditRoutes } from './routes-admin-audit.ts'
import { adminBulkActionRoutes } from './routes-admin-bulk-actions.ts'
import { type CompanyAdminDeps, companyAdminRoutes } from './routes-admin-company.ts'
import { adminDeadLetterRoutes } from './routes-admin-dead-letters.ts'
import { type AdminEmailDeps, adminEmailDetailRoutes } from './routes-admin-email.ts'
import { type AdminEmailActionDeps, adminEmailActionRoutes } from './routes-admin-email-actions.ts'
import { adminEmailContentRoutes } from './routes-admin-email-content.ts'
import { adminEmailRoutes } from './routes-admin-emails.ts'
import { adminInboxRoutes } from './routes-admin-inbox.ts'
import { adminInboxFileRoutes } from './routes-admin-inbox-files.ts'
import { adminLedgerRoutes } from './routes-admin-ledger.ts'
import { adminOverviewRoutes } from './routes-admin-overview.ts'
import { adminPeopleRoutes } from './routes-admin-people.ts'
import { type AdminProviderDeps, adminProviderRoutes } from './routes-admin-providers.ts'
import { adminSessionRoutes } from './routes-admin-session.ts'
import { adminSessionListRoutes } from './routes-admin-sessions.ts'
import { adminStatsRoutes } from './routes-admin-stats.ts'
import { adminSuppressionRoutes } from './routes-admin-suppression.ts'
import { type AdminSuppressionDeps, adminSuppressionChangeRoutes } from './routes-admin-suppression-changes.ts'
import { adminSuppressionHistoryRoutes } from './routes-admin-suppression-history.ts'
import { adminQueueRoutes, type SqlRouteDeps } from './routes-sql.ts'

export type AdminAppDeps = AdminAuthOptions &
  SqlRouteDeps &
  Omit<
    CompanyAdminDeps & AdminProviderDeps & AdminSuppressionDeps & AdminEmailDeps & AdminEmailActionDeps,
    Exclude<keyof AdminRouteDeps, 'db'>
  >

/** A browser gets the page of the admin UI, before it is asked who it is; programs get JSON. */
export function allAdminRoutes(admin: App, appDeps: AdminAppDeps): void {
  adminUi(admin)
  const auth = adminAuth(appDeps.db.pool, appDeps)
  protectAdminScope(admin, auth.authorize)
  const deps = { ...appDeps, auth, onRequest: auth.authorize }
  adminSessionRoutes(admin, deps)
  adminSessionListRoutes(admin, deps)
  adminAuditRoutes(admin, deps)
  adminOverviewRoutes(admin, deps)
  adminEmailRoutes(admin, deps)
  adminEmailDetailRoutes(admin, deps)
  adminEmailContentRoutes(admin, deps)
  adminEmailActionRoutes(admin, deps)
  adminDeadLetterRoutes(admin, deps)
  adminBulkActionRoutes(admin, deps)
  adminSuppressionRoutes(admin, deps)
  adminSuppressionChangeRoutes(admin, deps)
  adminSuppressionHistoryRoutes(admin, deps)
  companyAdminRoutes(admin, deps)
  adminProviderRoutes(admin, deps)
  adminInboxRoutes(admin, deps)
  adminInboxFileRoutes(admin, deps)
  adminPeopleRoutes(admin, deps)
  adminStatsRoutes(admin, deps)
  adminLedgerRoutes(admin, deps)
  adminQueueRoutes(admin, deps)
}
