import { writeFamilies } from '../exposition.ts'
import { COMPANY_METRICS } from './companies.ts'
import { COUNTER_METRICS } from './counters.ts'
import { DEAD_LETTER_METRICS } from './dead-letters.ts'
import type { SystemMetric } from './metric.ts'
import { OUTSIDE_METRICS } from './outside.ts'
import { PROVIDER_METRICS } from './providers.ts'
import { QUEUE_METRICS } from './queue.ts'
import type { SystemSnapshot } from './snapshot.ts'
import { SUPPRESSION_METRICS } from './suppression.ts'

/** Every figure about the whole system. A new one: read it in compose/metrics.ts, and describe it in one of these lists. */
export const SYSTEM_METRICS: readonly SystemMetric[] = [
  ...QUEUE_METRICS,
  ...COUNTER_METRICS,
  ...DEAD_LETTER_METRICS,
  ...COMPANY_METRICS,
  ...PROVIDER_METRICS,
  ...SUPPRESSION_METRICS,
  ...OUTSIDE_METRICS,
]

export function systemText(snapshot: SystemSnapshot): string {
  return writeFamilies(SYSTEM_METRICS.map(metric => ({ ...metric, samples: metric.samples(snapshot) })))
}
