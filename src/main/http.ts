import { type AdminAuthOptions, adminAuth, protectAdminScope } from '../admins/authorize.ts'
import { adminSessionListRoutes, adminSessionRoutes } from '../admins/routes.ts'
import { auditRoutes } from '../audit/routes.ts'
import { requireKnownCompany } from '../companies/company-of-request.ts'
import { requireKey } from '../companies/require-key.ts'
import { type CompanyRouteDeps, companyRoutes } from '../companies/routes.ts'
import { adminBulkActionRoutes } from '../dead-letters/bulk-actions.ts'
import { adminDeadLetterRoutes } from '../dead-letters/routes.ts'
import type { DomainRouteDeps } from '../doors/resend/domains.ts'
import { isResendPath, sendResendError } from '../doors/resend/errors.ts'
import { resendRoutes } from '../doors/resend/routes.ts'
import { enqueueRoute, queueRoutes, type SqlRouteDeps } from '../doors/sql/routes.ts'
import { type EmailRouteDeps, emailRoutes, sendAgainRoute } from '../emails/routes.ts'
import { emailContentRoutes } from '../emails/routes-content.ts'
import { figureRoutes } from '../figures/routes.ts'
import { inboxRoutes } from '../inbox/routes.ts'
import { ledgerRoutes } from '../ledger/routes.ts'
import { type OperationRouteDeps, operationRoutes } from '../operations/health-routes.ts'
import { adminPeopleRoutes } from '../people/routes.ts'
import { type SendRouteDeps, sendRoutes } from '../pipeline/accept/routes.ts'
import { type ProviderEventDeps, providerEventRoutes } from '../pipeline/feedback/routes.ts'
import { type ProviderRouteDeps, providerRoutes } from '../providers/routes.ts'
import { type SuppressionRouteDeps, suppressionRoutes } from '../suppression/routes.ts'
import { type TemplateRouteDeps, templateRoutes } from '../templates/routes.ts'
import {
  type AdminTemplateTestDeps,
  adminTemplateTestRoutes,
  templateTestRoutes,
} from '../templates/routes-test-send.ts'
import type { AdminRouteDeps } from '../web/access.ts'
import { documentApi } from '../web/openapi.ts'
import { sendProblem } from '../web/problem.ts'
import { type Guard, type Route, register } from '../web/route.ts'
import { type App, type BaseDeps, baseApp, collectMethods, refuseOtherMethods } from '../web/server.ts'
import { refuseUnknownQuery } from '../web/validation.ts'
import type { WebhookDeps } from '../webhooks/endpoints.ts'
import { webhookRoutes } from '../webhooks/routes.ts'
import { adminUi } from './admin-ui.ts'

export type AppDeps = SendRouteDeps &
  EmailRouteDeps &
  SuppressionRouteDeps &
  OperationRouteDeps &
  WebhookDeps &
  DomainRouteDeps &
  SqlRouteDeps &
  AdminAppDeps &
  Omit<BaseDeps, 'limits' | 'refuse'> & {
    events: ProviderEventDeps
    metricsToken?: string | undefined
    version: string
  }

/** The routes of the rooms, for keys and for administrators. */
type RoomDeps = CompanyRouteDeps &
  EmailRouteDeps &
  ProviderRouteDeps &
  SuppressionRouteDeps &
  WebhookDeps &
  TemplateRouteDeps

const roomRoutes = (deps: RoomDeps): Route[] =>
  [
    emailRoutes,
    emailContentRoutes,
    auditRoutes,
    companyRoutes,
    figureRoutes,
    inboxRoutes,
    ledgerRoutes,
    providerRoutes,
    queueRoutes,
    suppressionRoutes,
    webhookRoutes,
    templateRoutes,
  ].flatMap(room => Object.values<Route>(room(deps)))

export async function buildApp(deps: AppDeps): Promise<App> {
  const app = baseApp({ ...deps, refuse: refuseInForm })
  await documentApi(app, deps)
  await app.register(async api => {
    refuseUnknownQuery(api)
    const methods = collectMethods(api)
    sendRoutes(api, deps)
    sendAgainRoute(api, deps)
    enqueueRoute(api, deps)
    templateTestRoutes(api, deps)
    const routes = roomRoutes(deps)
    register(api, routes, keyGuard(deps))
    refuseOtherMethods(api, methods)
    await api.register(async admin => allAdminRoutes(admin, deps, routes))
  })
  // Outside of refuseUnknownQuery: health checks and scrapers may add query parameters.
  await app.register(async operations => operationRoutes(operations, deps))
  app.get('/', { schema: { hide: true } }, async (_request, reply) => reply.redirect('/docs'))
  await app.register(async resend => resendRoutes(resend, deps))
  await app.register(async events => providerEventRoutes(events, deps.events))
  return app
}

function keyGuard({ keys, pepper }: AppDeps): Guard {
  const hooks = {
    read: requireKey(keys, pepper, 'read'),
    send: requireKey(keys, pepper, 'send'),
    manage: requireKey(keys, pepper, 'manage'),
  }
  return { kind: 'key', requireKey: scope => hooks[scope] }
}

/** In Resend's form on its routes. */
const refuseInForm: typeof sendProblem = (problem, request, reply) =>
  (isResendPath(request.url) ? sendResendError : sendProblem)(problem, request, reply)

/** For METRICS_PORT: a process that has no API can be watched, too. */
export async function buildOperationsApp(deps: OperationRouteDeps & BaseDeps): Promise<App> {
  const app = baseApp(deps)
  await app.register(async operations => operationRoutes(operations, deps))
  return app
}

export type AdminAppDeps = AdminAuthOptions &
  SqlRouteDeps &
  ProviderRouteDeps &
  CompanyRouteDeps &
  SuppressionRouteDeps &
  EmailRouteDeps &
  WebhookDeps &
  Omit<AdminTemplateTestDeps, Exclude<keyof AdminRouteDeps, 'db'>>

/** A browser gets the page of the admin UI, before it is asked who it is; programs get JSON. */
export function allAdminRoutes(admin: App, appDeps: AdminAppDeps, routes: Route[]): void {
  adminUi(admin)
  const auth = adminAuth(appDeps.db.pool, appDeps)
  protectAdminScope(admin, auth.authorize)
  const deps = { ...appDeps, auth, onRequest: auth.authorize }
  register(admin, routes, {
    kind: 'admin',
    authorize: auth.authorize,
    findCompany: companyId => requireKnownCompany(deps.db, companyId),
  })
  adminSessionRoutes(admin, deps)
  adminSessionListRoutes(admin, deps)
  adminDeadLetterRoutes(admin, deps)
  adminBulkActionRoutes(admin, deps)
  adminTemplateTestRoutes(admin, deps)
  adminPeopleRoutes(admin, deps)
}
