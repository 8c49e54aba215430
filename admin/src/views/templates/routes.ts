import { createRoute } from '@tanstack/react-router'
import { signedIn } from '../../frame/layout-route.ts'

const textOf = (value: unknown) => (typeof value === 'string' && value !== '' ? value.slice(0, 64) : undefined)

type ListSearch = { companyId?: string; q?: string; cursor?: string }

export const templatesRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/templates',
  validateSearch: (search: Record<string, unknown>): ListSearch => {
    const [companyId, q, cursor] = [textOf(search.companyId), textOf(search.q), textOf(search.cursor)]
    return { ...(companyId && { companyId }), ...(q && { q }), ...(cursor && { cursor }) }
  },
}).lazy(() => import('./Templates.tsx').then(view => view.Route))

export const templateRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/templates/$templateId',
  validateSearch: ({ version }: Record<string, unknown>): { version?: number } =>
    Number.isSafeInteger(version) && (version as number) > 0 ? { version: version as number } : {},
}).lazy(() => import('./Template.tsx').then(view => view.Route))

export const templatesRoutes = [templatesRoute, templateRoute]
