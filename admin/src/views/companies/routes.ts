import { createRoute, redirect } from '@tanstack/react-router'
import { ACTIVITY_RANGES, type ActivityRange } from '../../api/company.ts'
import { signedIn } from '../../frame/layout-route.ts'
import { cursorsOf } from '../../lib/cursor-pages.ts'
import { COMPANY_TABS, type CompanyTab } from './tabs.ts'

const companyListRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/companies',
  validateSearch: (search: Record<string, unknown>): { q?: string } =>
    typeof search.q === 'string' && search.q !== '' ? { q: search.q.slice(0, 100) } : {},
}).lazy(() => import('./CompanyList.tsx').then(view => view.Route))

/** The first tab, for links that name none. */
const companyRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/companies/$companyId',
  beforeLoad: ({ params: { companyId } }) => {
    throw redirect({ to: '/companies/$companyId/$tab', params: { companyId, tab: 'activity' }, replace: true })
  },
})

type CompanySearch = { range?: ActivityRange; cursors?: string[] }

const companyTabRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/companies/$companyId/$tab',
  params: {
    parse: ({ companyId, tab }) => ({
      companyId,
      tab: (COMPANY_TABS as readonly string[]).includes(tab) ? (tab as CompanyTab) : 'activity',
    }),
  },
  validateSearch: ({ range, cursors }: Record<string, unknown>): CompanySearch => ({
    ...((ACTIVITY_RANGES as readonly unknown[]).includes(range) && { range: range as ActivityRange }),
    ...(cursorsOf(cursors)?.every(one => /^\d{1,15}$/.test(one)) && { cursors: cursors as string[] }),
  }),
}).lazy(() => import('./Company.tsx').then(view => view.Route))

export const companiesRoutes = [companyListRoute, companyRoute, companyTabRoute]
