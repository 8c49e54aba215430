import type { Family, Sample } from '../exposition.ts'
import type { SystemSnapshot } from './snapshot.ts'

/** A figure about the whole system: read from Postgres, and so the same in every process. Aggregate it with max(), never with sum(). */
export type SystemMetric = Omit<Family, 'samples'> & {
  labels: readonly string[]
  samples: (snapshot: SystemSnapshot) => Sample[]
}

export const gauge = (name: string, help: string, value: (snapshot: SystemSnapshot) => number): SystemMetric => ({
  name,
  type: 'gauge',
  help,
  labels: [],
  samples: snapshot => [{ value: value(snapshot) }],
})

/** A value for each label, or for each combination of labels. */
export function labelled<Label extends string>(
  type: 'gauge' | 'counter',
  name: string,
  labels: readonly Label[],
  help: string,
  rows: (snapshot: SystemSnapshot) => [labels: Record<Label, string>, value: number][],
): SystemMetric {
  return {
    name,
    type,
    help,
    labels,
    samples: snapshot => rows(snapshot).map(([own, value]) => ({ labels: own, value })),
  }
}
