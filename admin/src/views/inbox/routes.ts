import { createRoute } from '@tanstack/react-router'
import { signedIn } from '../../frame/layout-route.ts'

export const inboxRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/inbox',
}).lazy(() => import('./Inbox.tsx').then(view => view.Route))

export const inboxMessageRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/inbox/$messageId',
}).lazy(() => import('./InboxMessage.tsx').then(view => view.Route))

export const inboxRoutes = [inboxRoute, inboxMessageRoute]
