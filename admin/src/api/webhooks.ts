import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { api, type Schemas, take } from './client.ts'

export type WebhookOverview = Schemas['WebhookOverview']
export type WebhookDelivery = Schemas['WebhookDelivery']
export const WEBHOOK_STATES = ['enabled', 'failing', 'disabled'] as const
export type WebhookState = (typeof WEBHOOK_STATES)[number]
export const DELIVERY_STATES = ['waiting', 'delivered', 'failed'] as const
export type DeliveryState = (typeof DELIVERY_STATES)[number]

/** What an endpoint can be told, as the gateway knows it. */
export const EVENT_TYPES = [
  'email.sent',
  'email.failed',
  'email.delivered',
  'email.bounced',
  'email.complained',
  'email.expired',
  'email.suppressed',
  'company.warned',
  'company.paused',
  'company.dead_letters',
] as const satisfies WebhookOverview['eventTypes'][number][]
export type EventType = (typeof EVENT_TYPES)[number]

/** Of the deliveries that were tried; one that failed and is tried again is no success yet. null: none was tried. */
export function successRate({ delivered, failed, retrying }: WebhookOverview['recent']): number | null {
  const tried = delivered + failed + retrying
  return tried === 0 ? null : delivered / tried
}

export const WEBHOOKS_KEY = ['webhooks'] as const

export type WebhookFilter = { companyId?: string; state?: WebhookState; cursor?: string }

export const webhooksQuery = (filter: WebhookFilter) =>
  queryOptions({
    queryKey: [...WEBHOOKS_KEY, 'list', filter],
    queryFn: ({ signal }) => take(api.GET('/admin/webhooks', { params: { query: filter }, signal })),
    refetchInterval: 15_000,
    placeholderData: keepPreviousData,
  })

export const webhookQuery = (webhookId: string) =>
  queryOptions({
    queryKey: [...WEBHOOKS_KEY, webhookId],
    queryFn: ({ signal }) => take(api.GET('/admin/webhooks/{webhookId}', { params: { path: { webhookId } }, signal })),
    refetchInterval: 5_000,
  })

type Endpoint = Pick<WebhookOverview, 'companyId' | 'id'>

export const deliveriesQuery = ({ companyId, id }: Endpoint, filter: { status?: DeliveryState; cursor?: string }) =>
  queryOptions({
    queryKey: [...WEBHOOKS_KEY, id, 'deliveries', filter],
    queryFn: ({ signal }) =>
      take(
        api.GET('/admin/companies/{companyId}/webhooks/{id}/deliveries', {
          params: { path: { companyId, id }, query: filter },
          signal,
        }),
      ),
    refetchInterval: 3_000,
    placeholderData: keepPreviousData,
  })

export const exchangeQuery = ({ companyId, id }: Endpoint, deliveryId: string) =>
  queryOptions({
    queryKey: [...WEBHOOKS_KEY, id, 'delivery', deliveryId],
    queryFn: ({ signal }) =>
      take(
        api.GET('/admin/companies/{companyId}/webhooks/{id}/deliveries/{deliveryId}', {
          params: { path: { companyId, id, deliveryId } },
          signal,
        }),
      ),
    refetchInterval: 3_000,
  })
