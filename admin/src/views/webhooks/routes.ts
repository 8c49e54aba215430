import { createRoute } from '@tanstack/react-router'
import { DELIVERY_STATES, type DeliveryState, WEBHOOK_STATES, type WebhookState } from '../../api/webhooks.ts'
import { signedIn } from '../../frame/layout-route.ts'
import { cursorsOf } from '../../lib/cursor-pages.ts'

const textOf = (value: unknown) => (typeof value === 'string' && value !== '' ? value.slice(0, 100) : undefined)

type ListSearch = { companyId?: string; state?: WebhookState; cursors?: string[] }

const webhooksRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/webhooks',
  validateSearch: (search: Record<string, unknown>): ListSearch => {
    const [companyId, cursors] = [textOf(search.companyId), cursorsOf(search.cursors)]
    const state = WEBHOOK_STATES.find(one => one === search.state)
    return { ...(companyId && { companyId }), ...(state && { state }), ...(cursors && { cursors }) }
  },
}).lazy(() => import('./Webhooks.tsx').then(view => view.Route))

/** `delivery`: the one that is open. */
type WebhookSearch = { status?: DeliveryState; cursors?: string[]; delivery?: string }

const webhookRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/webhooks/$webhookId',
  validateSearch: (search: Record<string, unknown>): WebhookSearch => {
    const [cursors, delivery] = [cursorsOf(search.cursors), textOf(search.delivery)]
    const status = DELIVERY_STATES.find(one => one === search.status)
    return { ...(status && { status }), ...(cursors && { cursors }), ...(delivery && { delivery }) }
  },
}).lazy(() => import('./Webhook.tsx').then(view => view.Route))

export const webhooksRoutes = [webhooksRoute, webhookRoute]
