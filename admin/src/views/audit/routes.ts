import { createRoute } from '@tanstack/react-router'
import { signedIn } from '../../frame/layout-route.ts'

const FIELDS = [
  'performedBy',
  'actor',
  'action',
  'subjectType',
  'subjectId',
  'company',
  'olderThan',
  'newerThan',
  'open',
] as const
const DAYS = ['from', 'to'] as const

/** `from` and `to` are days, as they are typed; `actor` is `any` where the gateway's own changes are shown, too; `open` is the entry whose details are shown. */
export type AuditSearch = { [name in (typeof FIELDS)[number] | (typeof DAYS)[number]]?: string | undefined }

const auditLogRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/audit',
  validateSearch: (search: Record<string, unknown>): AuditSearch => ({
    ...textsOf(FIELDS, search, /\S/),
    ...textsOf(DAYS, search, /^\d{4}-\d\d-\d\d$/),
  }),
}).lazy(() => import('./AuditLog.tsx').then(view => view.Route))

export const auditRoutes = [auditLogRoute]

/** A name of digits alone is a number in the URL. */
function textsOf(names: readonly string[], search: Record<string, unknown>, pattern: RegExp): AuditSearch {
  return Object.fromEntries(
    names.flatMap(name => {
      const text = typeof search[name] === 'number' ? String(search[name]) : search[name]
      return typeof text === 'string' && pattern.test(text) ? [[name, text]] : []
    }),
  )
}
