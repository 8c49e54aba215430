import { createRoute } from '@tanstack/react-router'
import { signedIn } from '../../frame/layout-route.ts'

const MESSAGE_TABS = ['html', 'text', 'source', 'headers', 'attachments', 'links'] as const
export type MessageTab = (typeof MESSAGE_TABS)[number]
export type InboxSearch = { search?: string; tab?: MessageTab }

const isTab = (tab: unknown): tab is MessageTab => (MESSAGE_TABS as readonly unknown[]).includes(tab)

/** The list stays where it is while messages are opened beside it. */
export const inboxRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/inbox',
  validateSearch: ({ search, tab }: Record<string, unknown>): InboxSearch => ({
    ...(search !== undefined && search !== '' && { search: String(search).slice(0, 200) }),
    ...(isTab(tab) && { tab }),
  }),
}).lazy(() => import('./Inbox.tsx').then(view => view.Route))

const inboxMessageRoute = createRoute({
  getParentRoute: () => inboxRoute,
  path: '/$messageId',
}).lazy(() => import('./InboxMessage.tsx').then(view => view.Route))

export const inboxRoutes = [inboxRoute.addChildren([inboxMessageRoute])]
