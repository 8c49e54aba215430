import { createRoute } from '@tanstack/react-router'
import { signedIn } from '../../frame/layout-route.ts'
import { cursorsOf } from '../../lib/cursor-pages.ts'
import { isRange, type Range } from '../overview/data.ts'

export type DeadLetterSearch = {
  /** The list instead of the groups; a filter by code shows the list, too. */
  list?: boolean
  code?: string
  company?: string
  range?: Range
  cursors?: string[]
  /** The dead letter whose details are open. */
  open?: string
}

export const deadLettersRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/dead-letters',
  validateSearch: (search: Record<string, unknown>): DeadLetterSearch => {
    const cursors = cursorsOf(search.cursors)
    return {
      ...(search.list === true && { list: true }),
      // A code such as 421 is a number in the URL.
      ...((typeof search.code === 'string' || typeof search.code === 'number') && { code: String(search.code) }),
      ...(typeof search.company === 'string' && { company: search.company }),
      ...(isRange(search.range) && { range: search.range }),
      ...(cursors && { cursors }),
      ...(typeof search.open === 'string' && { open: search.open }),
    }
  },
}).lazy(() => import('./DeadLetters.tsx').then(view => view.Route))

export const deadLettersRoutes = [deadLettersRoute]
