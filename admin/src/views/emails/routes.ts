import { createRoute } from '@tanstack/react-router'
import { signedIn } from '../../frame/layout-route.ts'
import { readSearch } from './search-params.ts'

export const emailListRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/emails',
  validateSearch: readSearch,
}).lazy(() => import('./EmailList.tsx').then(view => view.Route))

export const emailDetailRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/emails/$outboxId',
}).lazy(() => import('./EmailDetail.tsx').then(view => view.Route))

export const emailsRoutes = [emailListRoute, emailDetailRoute]
