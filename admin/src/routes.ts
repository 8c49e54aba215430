import { createRoute, createRouter, redirect } from '@tanstack/react-router'
import { queryClient } from './api/query.ts'
import { NotFound, Pending, RouteError } from './components/route-states.tsx'
import { root, signedIn, unknownRoute } from './frame/layout-route.ts'
import { rememberPlace } from './lib/list-place.ts'
import * as search from './searches.ts'

const getParentRoute = () => signedIn

const overview = createRoute({ getParentRoute, path: '/', validateSearch: search.overviewSearch }).lazy(() =>
  import('./views/overview/Overview.tsx').then(view => view.Route),
)
const emails = createRoute({ getParentRoute, path: '/emails', validateSearch: search.emailSearch }).lazy(() =>
  import('./views/emails/EmailList.tsx').then(view => view.Route),
)
const email = createRoute({
  getParentRoute,
  path: '/emails/$outboxId',
  validateSearch: search.emailTabSearch,
}).lazy(() => import('./views/emails/EmailDetail.tsx').then(view => view.Route))
const deadLetters = createRoute({
  getParentRoute,
  path: '/dead-letters',
  validateSearch: search.deadLetterSearch,
}).lazy(() => import('./views/dead-letters/DeadLetters.tsx').then(view => view.Route))
const suppression = createRoute({
  getParentRoute,
  path: '/suppression',
  validateSearch: search.suppressionSearch,
}).lazy(() => import('./views/suppression/Suppression.tsx').then(view => view.Route))
const companies = createRoute({ getParentRoute, path: '/companies', validateSearch: search.companiesSearch }).lazy(() =>
  import('./views/companies/CompanyList.tsx').then(view => view.Route),
)
/** The first tab, for links that name none. */
const company = createRoute({
  getParentRoute,
  path: '/companies/$companyId',
  beforeLoad: ({ params: { companyId } }) => {
    throw redirect({ to: '/companies/$companyId/$tab', params: { companyId, tab: 'activity' }, replace: true })
  },
})
const companyTab = createRoute({
  getParentRoute,
  path: '/companies/$companyId/$tab',
  params: {
    parse: ({ companyId, tab }) => ({
      companyId,
      tab: search.COMPANY_TABS.find(name => name === tab) ?? ('activity' as const),
    }),
  },
  validateSearch: search.companySearch,
}).lazy(() => import('./views/companies/Company.tsx').then(view => view.Route))
const templates = createRoute({ getParentRoute, path: '/templates', validateSearch: search.templatesSearch }).lazy(() =>
  import('./views/templates/Templates.tsx').then(view => view.Route),
)
const template = createRoute({
  getParentRoute,
  path: '/templates/$templateId',
  validateSearch: search.templateSearch,
}).lazy(() => import('./views/templates/Template.tsx').then(view => view.Route))
const webhooks = createRoute({ getParentRoute, path: '/webhooks', validateSearch: search.webhooksSearch }).lazy(() =>
  import('./views/webhooks/Webhooks.tsx').then(view => view.Route),
)
const webhook = createRoute({
  getParentRoute,
  path: '/webhooks/$webhookId',
  validateSearch: search.webhookSearch,
}).lazy(() => import('./views/webhooks/Webhook.tsx').then(view => view.Route))
const providers = createRoute({ getParentRoute, path: '/providers' }).lazy(() =>
  import('./views/providers/Providers.tsx').then(view => view.Route),
)
/** The list stays where it is while messages are opened beside it. */
const inbox = createRoute({ getParentRoute, path: '/inbox', validateSearch: search.inboxSearch }).lazy(() =>
  import('./views/inbox/Inbox.tsx').then(view => view.Route),
)
const inboxMessage = createRoute({ getParentRoute: () => inbox, path: '/$messageId' }).lazy(() =>
  import('./views/inbox/InboxMessage.tsx').then(view => view.Route),
)
const audit = createRoute({ getParentRoute, path: '/audit', validateSearch: search.auditSearch }).lazy(() =>
  import('./views/audit/AuditLog.tsx').then(view => view.Route),
)
const sessions = createRoute({ getParentRoute, path: '/sessions', validateSearch: search.sessionsSearch }).lazy(() =>
  import('./views/sessions/Sessions.tsx').then(view => view.Route),
)
const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: search.signInSearch,
}).lazy(() => import('./views/sign-in/SignIn.tsx').then(view => view.Route))

/** A view is also an entry of frame/navigation.ts. */
const views = signedIn.addChildren([
  overview,
  emails,
  email,
  deadLetters,
  suppression,
  companies,
  company,
  companyTab,
  templates,
  template,
  webhooks,
  webhook,
  providers,
  inbox.addChildren([inboxMessage]),
  audit,
  sessions,
  unknownRoute,
])

export const router = createRouter({
  routeTree: root.addChildren([signIn, views]),
  basepath: '/admin',
  context: { queryClient },
  defaultPreload: 'intent',
  defaultPendingComponent: Pending,
  defaultErrorComponent: RouteError,
  defaultNotFoundComponent: NotFound,
  scrollRestoration: true,
  // Only what a route's validateSearch returns: an invalid value in a link does not reach a view.
  search: { strict: true },
})

router.subscribe('onBeforeNavigate', ({ fromLocation, toLocation }) => rememberPlace(fromLocation, toLocation))

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
