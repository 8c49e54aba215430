import { createRoute } from '@tanstack/react-router'
import { signedIn } from '../../frame/layout-route.ts'

export const templatesRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/templates',
}).lazy(() => import('./Templates.tsx').then(view => view.Route))

export const templatesRoutes = [templatesRoute]
