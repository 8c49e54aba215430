import { createRoute } from '@tanstack/react-router'
import { signedIn } from '../../frame/layout-route.ts'
import { cursorsOf } from '../../lib/cursor-pages.ts'

const textOf = (value: unknown) => (typeof value === 'string' && value !== '' ? value.slice(0, 64) : undefined)

type ListSearch = { companyId?: string; q?: string; cursors?: string[] }

const templatesRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/templates',
  validateSearch: (search: Record<string, unknown>): ListSearch => {
    const [companyId, q, cursors] = [textOf(search.companyId), textOf(search.q), cursorsOf(search.cursors)]
    return { ...(companyId && { companyId }), ...(q && { q }), ...(cursors && { cursors }) }
  },
}).lazy(() => import('./Templates.tsx').then(view => view.Route))

const templateRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/templates/$templateId',
  validateSearch: ({ version }: Record<string, unknown>): { version?: number } =>
    Number.isSafeInteger(version) && (version as number) > 0 ? { version: version as number } : {},
}).lazy(() => import('./Template.tsx').then(view => view.Route))

export const templatesRoutes = [templatesRoute, templateRoute]
