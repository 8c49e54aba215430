import { createRoute } from '@tanstack/react-router'
import { DELIVERY_STATES, type DeliveryState, WEBHOOK_STATES, type WebhookState } from '../../api/webhooks.ts'
import { signedIn } from '../../frame/layout-route.ts'

const textOf = (value: unknown) => (typeof value === 'string' && value !== '' ? value.slice(0, 100) : undefined)

type ListSearch = { companyId?: string; state?: WebhookState; cursor?: string }

export const webhooksRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/webhooks',
  validateSearch: (search: Record<string, unknown>): ListSearch => {
    const [companyId, cursor] = [textOf(search.companyId), textOf(search.cursor)]
    const state = WEBHOOK_STATES.find(one => one === search.state)
    return { ...(companyId && { companyId }), ...(state && { state }), ...(cursor && { cursor }) }
  },
}).lazy(() => import('./Webhooks.tsx').then(view => view.Route))

/** `delivery`: the one that is open. */
type WebhookSearch = { status?: DeliveryState; cursor?: string; delivery?: string }

export const webhookRoute = createRoute({
  getParentRoute: () => signedIn,
  path: '/webhooks/$webhookId',
  validateSearch: (search: Record<string, unknown>): WebhookSearch => {
    const [cursor, delivery] = [textOf(search.cursor), textOf(search.delivery)]
    const status = DELIVERY_STATES.find(one => one === search.status)
    return { ...(status && { status }), ...(cursor && { cursor }), ...(delivery && { delivery }) }
  },
}).lazy(() => import('./Webhook.tsx').then(view => view.Route))

export const webhooksRoutes = [webhooksRoute, webhookRoute]
