import { createRoute } from '@tanstack/react-router'
import { signedIn } from '../../frame/layout-route.ts'

export const overviewRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/',
}).lazy(() => import('./Overview.tsx').then(view => view.Route))

export const overviewRoutes = [overviewRoute]
