import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { api, take } from '../../api/client.ts'

export const RANGES = ['1h', '24h', '7d', '30d'] as const
export type Range = (typeof RANGES)[number]
export const isRange = (value: unknown): value is Range => RANGES.includes(value as Range)

export const COUNTED = ['accepted', 'sent', 'delivered', 'bounced', 'complained', 'failed'] as const
export type Counted = Record<(typeof COUNTED)[number], number>
export type QueueCounts = {
  ready: number
  scheduled: number
  unknown: number
  oldestWaitingSeconds: number | null
  deadLetters: number
}
export type ProviderState = {
  name: string
  state: 'healthy' | 'parked' | 'open'
  reason: string | null
  nextProbeAt: string | null
  ratePerSecond: number
  maxPerSecond: number | null
}
export type Attention = {
  kind: AttentionKind
  count: number
  since: string | null
  code: string | null
  companyId: string | null
  companyName: string | null
}
export type AttentionKind =
  | 'dead-letters'
  | 'provider-parked'
  | 'no-worker'
  | 'waiting-long'
  | 'unknown-sends'
  | 'company-paused'
  | 'company-warned'
  | 'webhooks-disabled'
export type Overview = {
  range: { from: string; to: string; bucketSeconds: number }
  countedUntil: string
  series: (Counted & { at: string })[]
  totals: Counted
  queue: QueueCounts
  providers: ProviderState[]
  attention: Attention[]
}

/** The last hour moves every few seconds; the others are counted by the hour. */
const REFRESH_MS: Record<Range, number> = { '1h': 10_000, '24h': 30_000, '7d': 60_000, '30d': 60_000 }

export const overviewQuery = (range: Range, company: string | undefined) =>
  queryOptions({
    queryKey: ['overview', range, company],
    queryFn: ({ signal }) =>
      take(
        api.GET('/admin/overview' as never, { params: { query: { range, company } }, signal } as never),
      ) as Promise<Overview>,
    refetchInterval: REFRESH_MS[range],
    // The figures of the last choice stay until those of the new one are there.
    placeholderData: keepPreviousData,
  })

/** Shares of what was sent, or accepted; null where there is nothing to divide by. */
export function ratesOf({ accepted, sent, delivered, bounced, complained, failed }: Counted) {
  return {
    delivered: share(delivered, sent),
    bounced: share(bounced, sent),
    complained: share(complained, sent),
    failed: share(failed, accepted),
  }
}

/** Feedback about e-mails sent before the range counts in it, so the quotient could exceed one. */
const share = (part: number, whole: number) => (whole === 0 ? null : Math.min(1, part / whole))
