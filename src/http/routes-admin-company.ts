import type { App } from './app.ts'
import { adminCompanyRoutes } from './routes-admin-companies.ts'
import { type AdminKeyDeps, adminCompanyChangeRoutes } from './routes-admin-company-changes.ts'
import { adminCompanyFigureRoutes } from './routes-admin-company-figures.ts'
import { adminCompanyKeyRoutes } from './routes-admin-company-keys.ts'
import { type AdminSqlDeps, adminCompanySqlRoutes } from './routes-admin-company-sql.ts'
import { type AdminTemplateUseDeps, adminTemplateUseRoutes } from './routes-admin-template-use.ts'
import { adminTemplateRoutes } from './routes-admin-templates.ts'
import { adminWebhookDeliveryRoutes } from './routes-admin-webhook-deliveries.ts'
import { type AdminWebhookDeps, adminWebhookRoutes } from './routes-admin-webhooks.ts'

export type CompanyAdminDeps = AdminKeyDeps & AdminSqlDeps & AdminTemplateUseDeps & AdminWebhookDeps

/** Companies and what belongs to them: keys, webhooks, templates, SQL access, figures. */
export function companyAdminRoutes(app: App, deps: CompanyAdminDeps): void {
  adminCompanyRoutes(app, deps)
  adminCompanyChangeRoutes(app, deps)
  adminCompanyKeyRoutes(app, deps)
  adminCompanyFigureRoutes(app, deps)
  adminCompanySqlRoutes(app, deps)
  adminWebhookRoutes(app, deps)
  adminWebhookDeliveryRoutes(app, deps)
  adminTemplateRoutes(app, deps)
  adminTemplateUseRoutes(app, deps)
}
