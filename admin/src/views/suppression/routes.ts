import { createRoute } from '@tanstack/react-router'
import { signedIn } from '../../frame/layout-route.ts'
import { cursorsOf } from '../../lib/cursor-pages.ts'
import { isRange, type Range } from '../overview/data.ts'
import { isReason, type Reason } from './data.ts'

const SHOWN = ['active', 'removed', 'expired'] as const
export type Shown = (typeof SHOWN)[number]

export type SuppressionSearch = {
  show?: Shown | undefined
  reason?: Reason | undefined
  /** The id of a company, or `global`. */
  company?: string | undefined
  /** When it was added. */
  range?: Range | undefined
  /** The first digits of a hash. Never an address: a URL is kept in too many places. */
  search?: string | undefined
  sort?: 'addedAt' | 'expiresAt' | undefined
  order?: 'asc' | 'desc' | undefined
  cursors?: string[] | undefined
  /** The hash whose details are open. */
  open?: string | undefined
}

const suppressionRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/suppression',
  validateSearch: (search: Record<string, unknown>): SuppressionSearch => ({
    show: SHOWN.find(one => one === search.show),
    reason: isReason(search.reason) ? search.reason : undefined,
    company: typeof search.company === 'string' ? search.company : undefined,
    range: isRange(search.range) ? search.range : undefined,
    // Digits alone are a number in the URL.
    search: typeof search.search === 'string' || typeof search.search === 'number' ? String(search.search) : undefined,
    sort: search.sort === 'addedAt' || search.sort === 'expiresAt' ? search.sort : undefined,
    order: search.order === 'asc' || search.order === 'desc' ? search.order : undefined,
    cursors: cursorsOf(search.cursors),
    open: typeof search.open === 'string' ? search.open : undefined,
  }),
}).lazy(() => import('./Suppression.tsx').then(view => view.Route))

export const suppressionRoutes = [suppressionRoute]
