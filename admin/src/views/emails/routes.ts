import { createRoute } from '@tanstack/react-router'
import { signedIn } from '../../frame/layout-route.ts'
import { readSearch } from './search-params.ts'

export const MESSAGE_TABS = ['html', 'text', 'source', 'headers'] as const
export type MessageTab = (typeof MESSAGE_TABS)[number]

const emailListRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/emails',
  validateSearch: readSearch,
}).lazy(() => import('./EmailList.tsx').then(view => view.Route))

const emailDetailRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/emails/$outboxId',
  validateSearch: ({ tab }: Record<string, unknown>): { tab?: MessageTab } => {
    const found = MESSAGE_TABS.find(one => one === tab)
    return found ? { tab: found } : {}
  },
}).lazy(() => import('./EmailDetail.tsx').then(view => view.Route))

export const emailsRoutes = [emailListRoute, emailDetailRoute]
