import { createRoute } from '@tanstack/react-router'
import { root } from '../../frame/layout-route.ts'

export const signInRoute = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: (search: Record<string, unknown>): { to?: string; ended?: boolean } => ({
    ...(isOwnPath(search.to) && { to: search.to }),
    ...(search.ended === true && { ended: true }),
  }),
}).lazy(() => import('./SignIn.tsx').then(view => view.Route))

/** Only a path of this application: a link must not lead to another site after signing in. */
function isOwnPath(to: unknown): to is string {
  return typeof to === 'string' && /^\/(?![/\\])/.test(to) && !to.startsWith('/sign-in')
}
