import { createRoute } from '@tanstack/react-router'
import { signedIn } from '../../frame/layout-route.ts'
import { isRange, type Range } from './data.ts'

export type OverviewSearch = { range?: Range; company?: string }

export const overviewRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/',
  validateSearch: ({ range, company }: Record<string, unknown>): OverviewSearch => ({
    ...(isRange(range) && { range }),
    ...(typeof company === 'string' && { company }),
  }),
}).lazy(() => import('./Overview.tsx').then(view => view.Route))

export const overviewRoutes = [overviewRoute]
