import { createRouter } from '@tanstack/react-router'
import { queryClient } from './api/query.ts'

import { NotFound } from './components/NotFound.tsx'
import { Pending } from './components/Pending.tsx'
import { RouteError } from './components/RouteError.tsx'
import { root, signedIn, unknownRoute } from './frame/layout-route.ts'
import { rememberPlace } from './lib/list-place.ts'
import { auditRoutes } from './views/audit/routes.ts'
import { companiesRoutes } from './views/companies/routes.ts'
import { deadLettersRoutes } from './views/dead-letters/routes.ts'
import { emailsRoutes } from './views/emails/routes.ts'
import { inboxRoutes } from './views/inbox/routes.ts'
import { overviewRoutes } from './views/overview/routes.ts'
import { providersRoutes } from './views/providers/routes.ts'
import { sessionsRoutes } from './views/sessions/routes.ts'
import { signInRoute } from './views/sign-in/routes.ts'
import { suppressionRoutes } from './views/suppression/routes.ts'
import { templatesRoutes } from './views/templates/routes.ts'
import { webhooksRoutes } from './views/webhooks/routes.ts'

/** Register a view here and in frame/navigation.ts. */
const views = signedIn.addChildren([
  ...overviewRoutes,
  ...emailsRoutes,
  ...deadLettersRoutes,
  ...suppressionRoutes,
  ...companiesRoutes,
  ...templatesRoutes,
  ...webhooksRoutes,
  ...providersRoutes,
  ...inboxRoutes,
  ...auditRoutes,
  ...sessionsRoutes,
  unknownRoute,
])

export const router = createRouter({
  routeTree: root.addChildren([signInRoute, views]),
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
