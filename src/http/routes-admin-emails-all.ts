import type { App } from './app.ts'
import { type AdminEmailDeps, adminEmailDetailRoutes } from './routes-admin-email.ts'
import { type AdminEmailActionDeps, adminEmailActionRoutes } from './routes-admin-email-actions.ts'
import { adminEmailContentRoutes } from './routes-admin-email-content.ts'
import { adminEmailRoutes } from './routes-admin-emails.ts'
import { adminOverviewRoutes } from './routes-admin-overview.ts'

/** The overview, live figures, and everything about e-mails. */
export function allAdminEmailRoutes(app: App, deps: AdminEmailDeps & AdminEmailActionDeps): void {
  adminOverviewRoutes(app, deps)
  adminEmailRoutes(app, deps)
  adminEmailDetailRoutes(app, deps)
  adminEmailContentRoutes(app, deps)
  adminEmailActionRoutes(app, deps)
}
