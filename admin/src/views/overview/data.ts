import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { api, type Schemas, take } from '../../api/client.ts'

export const RANGES = ['1h', '24h', '7d', '30d'] as const
export type Range = (typeof RANGES)[number]
export const isRange = (value: unknown): value is Range => RANGES.includes(value as Range)

export const COUNTED = ['accepted', 'sent', 'delivered', 'bounced', 'complained', 'failed'] as const
export type Counted = Record<(typeof COUNTED)[number], number>
export type QueueCounts = Schemas['QueueCounts']
export type Overview = Schemas['Overview']
export type ProviderState = Overview['providers'][number]
export type Attention = Overview['attention'][number]
export type AttentionKind = Attention['kind']

/** The last hour moves every few seconds; the others are counted by the hour. */
const REFRESH_MS: Record<Range, number> = { '1h': 10_000, '24h': 30_000, '7d': 60_000, '30d': 60_000 }

export const OVERVIEW_KEY = 'overview'

export const overviewQuery = (range: Range, company: string | undefined) =>
  queryOptions({
    queryKey: [OVERVIEW_KEY, range, company],
    queryFn: ({ signal }) =>
      take(api.GET('/admin/overview', { params: { query: { range, ...(company && { company }) } }, signal })),
    refetchInterval: REFRESH_MS[range],
    // The figures of the last choice stay until those of the new one are there.
    placeholderData: keepPreviousData,
  })

export type LedgerDay = Schemas['Ledger']['days'][number]

/** The ledger since this day. */
export const ledgerQuery = (since: string) =>
  queryOptions({
    queryKey: [OVERVIEW_KEY, 'ledger', since],
    queryFn: ({ signal }) => take(api.GET('/admin/ledger', { params: { query: { since } }, signal })),
  })
