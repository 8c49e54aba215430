import { labelled, type SystemMetric } from './metric.ts'
import type { ProviderFigures } from './snapshot.ts'

/** null: there is no such figure for this provider. */
const ofProvider = (name: string, help: string, value: (one: ProviderFigures) => number | null) =>
  labelled('gauge', name, ['provider'], help, ({ providers }) =>
    providers.flatMap(one => {
      const figure = value(one)
      return figure === null ? [] : [[{ provider: one.name }, figure] as [{ provider: string }, number]]
    }),
  )

export const PROVIDER_METRICS: SystemMetric[] = [
  ofProvider('provider_parked', '1 while the provider is parked and mail waits', one => Number(one.parked)),
  ofProvider('provider_parked_seconds', 'How long the provider has been parked', one => one.parkedSeconds),
  ofProvider(
    'provider_quota_per_second',
    'What the provider allows: recipients a second, messages with Resend; none when it is not known',
    one => one.quota,
  ),
  ofProvider(
    'provider_rate_limit_per_second',
    'What the gateway allows itself now: the quota, SEND_RATE_PER_SECOND, or less while the provider throttles',
    one => one.limit,
  ),
]
