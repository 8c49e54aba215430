import { createRoute } from '@tanstack/react-router'
import { signedIn } from '../../frame/layout-route.ts'
import { cursorsOf } from '../../lib/cursor-pages.ts'
import { isRange, type Range } from '../overview/data.ts'

export type DeadLetterSearch = {
  /** The list instead of the groups; a filter by code shows the list, too. */
  list?: boolean | undefined
  code?: string | undefined
  company?: string | undefined
  range?: Range | undefined
  cursors?: string[] | undefined
  /** The dead letter whose details are open. */
  open?: string | undefined
}

const deadLettersRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/dead-letters',
  validateSearch: (search: Record<string, unknown>): DeadLetterSearch => ({
    list: search.list === true || undefined,
    // A code such as 421 is a number in the URL.
    code: typeof search.code === 'string' || typeof search.code === 'number' ? String(search.code) : undefined,
    company: typeof search.company === 'string' ? search.company : undefined,
    range: isRange(search.range) ? search.range : undefined,
    cursors: cursorsOf(search.cursors),
    open: typeof search.open === 'string' ? search.open : undefined,
  }),
}).lazy(() => import('./DeadLetters.tsx').then(view => view.Route))

export const deadLettersRoutes = [deadLettersRoute]
