import { createRoute } from '@tanstack/react-router'
import { signedIn } from '../../frame/layout-route.ts'

export const emailListRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/emails',
}).lazy(() => import('./EmailList.tsx').then(view => view.Route))

export const emailDetailRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/emails/$outboxId',
}).lazy(() => import('./EmailDetail.tsx').then(view => view.Route))

export const emailsRoutes = [emailListRoute, emailDetailRoute]
