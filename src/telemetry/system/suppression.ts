import { labelled, type SystemMetric } from './metric.ts'

/** The names are part of the published contract. */
export const SUPPRESSION_METRICS: SystemMetric[] = [
  labelled(
    'gauge',
    'suppression_list_size',
    ['reason'],
    'Active entries of the suppression list, counted at most every 30 seconds',
    ({ suppressionSize }) => Object.entries(suppressionSize).map(([reason, count]) => [{ reason }, count]),
  ),
  labelled(
    'counter',
    'suppression_added_total',
    ['reason'],
    'Entries added, or raised to this reason',
    ({ suppressions }) => suppressions.map(({ reason, added }) => [{ reason }, added]),
  ),
  labelled(
    'counter',
    'suppression_removed_total',
    ['reason', 'action'],
    'Entries that left the list: MANUAL removed by a person, EXPIRED at the end of their lifetime',
    ({ suppressions }) =>
      suppressions.flatMap(({ reason, removed, expired }) => [
        [{ reason, action: 'MANUAL' }, removed],
        [{ reason, action: 'EXPIRED' }, expired],
      ]),
  ),
]
