import { SYSTEM_METRICS } from '../../src/figures/metrics.ts'
import { ProcessFigures } from '../../src/platform/telemetry/process-figures.ts'

/** `labels` are known for the figures about the system. */
export type KnownMetric = { name: string; type: string; about: 'system' | 'process'; labels: readonly string[] | null }

/** Every metric of the gateway. */
export async function knownMetrics(): Promise<KnownMetric[]> {
  const figures = new ProcessFigures({ version: '0', role: 'all' }, {})
  figures.close()
  const own = await figures.registry.getMetricsAsJSON()
  return [
    ...SYSTEM_METRICS.map(({ name, type, labels }) => ({ name, type, labels, about: 'system' as const })),
    ...own.map(({ name, type }) => ({ name, type: String(type), labels: null, about: 'process' as const })),
  ]
}

/** The names that a query can use: a histogram has three. */
export function queryNames(metrics: KnownMetric[]): Set<string> {
  return new Set(
    metrics.flatMap(({ name, type }) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    ),
  )
}
