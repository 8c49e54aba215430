import { createRoute } from '@tanstack/react-router'
import { signedIn } from '../../frame/layout-route.ts'

export const companyListRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/companies',
}).lazy(() => import('./CompanyList.tsx').then(view => view.Route))

export const companyRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/companies/$companyId',
}).lazy(() => import('./Company.tsx').then(view => view.Route))

export const companiesRoutes = [companyListRoute, companyRoute]
