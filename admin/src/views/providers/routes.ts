import { createRoute } from '@tanstack/react-router'
import { signedIn } from '../../frame/layout-route.ts'

const providersRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/providers',
}).lazy(() => import('./Providers.tsx').then(view => view.Route))

export const providersRoutes = [providersRoute]
