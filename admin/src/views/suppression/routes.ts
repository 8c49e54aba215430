import { createRoute } from '@tanstack/react-router'
import { signedIn } from '../../frame/layout-route.ts'

export const suppressionRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/suppression',
}).lazy(() => import('./Suppression.tsx').then(view => view.Route))

export const suppressionRoutes = [suppressionRoute]
