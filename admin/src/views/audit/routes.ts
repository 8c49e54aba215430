import { createRoute } from '@tanstack/react-router'
import { signedIn } from '../../frame/layout-route.ts'

export const auditLogRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/audit',
}).lazy(() => import('./AuditLog.tsx').then(view => view.Route))

export const auditRoutes = [auditLogRoute]
