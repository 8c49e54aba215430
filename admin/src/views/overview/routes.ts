import { createRoute } from '@tanstack/react-router'
import { signedIn } from '../../frame/layout-route.ts'
import { isRange, type Range } from './data.ts'

/** `ledger`: what the ledger has found since this day is open. */
export type OverviewSearch = { range?: Range; company?: string; ledger?: string }

const DAY = /^\d{4}-\d{2}-\d{2}$/

const overviewRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/',
  validateSearch: ({ range, company, ledger }: Record<string, unknown>): OverviewSearch => ({
    ...(isRange(range) && { range }),
    ...(typeof company === 'string' && { company }),
    ...(typeof ledger === 'string' && DAY.test(ledger) && { ledger }),
  }),
}).lazy(() => import('./Overview.tsx').then(view => view.Route))

export const overviewRoutes = [overviewRoute]
