import { createRoute } from '@tanstack/react-router'
import { signedIn } from '../../frame/layout-route.ts'

export const deadLettersRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/dead-letters',
}).lazy(() => import('./DeadLetters.tsx').then(view => view.Route))

export const deadLettersRoutes = [deadLettersRoute]
