import { createRoute } from '@tanstack/react-router'
import { signedIn } from '../../frame/layout-route.ts'

const sessionsRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/sessions',
  validateSearch: (search: Record<string, unknown>): { of?: 'everybody' } =>
    search.of === 'everybody' ? { of: 'everybody' } : {},
}).lazy(() => import('./Sessions.tsx').then(view => view.Route))

export const sessionsRoutes = [sessionsRoute]
