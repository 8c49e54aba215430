import { createRoute } from '@tanstack/react-router'
import { signedIn } from '../../frame/layout-route.ts'

export const webhooksRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/webhooks',
}).lazy(() => import('./Webhooks.tsx').then(view => view.Route))

export const webhooksRoutes = [webhooksRoute]
