import { gauge, labelled, type SystemMetric } from './metric.ts'

const [HOUR, DAY] = [3_600, 86_400]

/** The upper bounds of dlq_age_seconds: an hour, six, a day, three, a week (when content is purged), thirty days. */
export const DEAD_LETTER_AGES = [HOUR, 6 * HOUR, DAY, 3 * DAY, 7 * DAY, 30 * DAY] as const

export const DEAD_LETTER_METRICS: SystemMetric[] = [
  gauge('dlq_size', 'Dead letters', ({ deadLetters }) => deadLetters.size),
  {
    name: 'dlq_age_seconds',
    type: 'histogram',
    help: 'Ages of the dead letters that there are now',
    labels: [],
    samples: ({ deadLetters: { size, youngerThan, ageSumSeconds } }) => [
      ...DEAD_LETTER_AGES.map((age, index) => ({
        labels: { le: String(age) },
        value: youngerThan[index] ?? 0,
        suffix: '_bucket' as const,
      })),
      { labels: { le: '+Inf' }, value: size, suffix: '_bucket' },
      { value: ageSumSeconds, suffix: '_sum' },
      { value: size, suffix: '_count' },
    ],
  },
  labelled('gauge', 'dlq_last_hour', ['company_id'], 'Dead letters of the last hour, by company', ({ deadLetters }) =>
    deadLetters.lastHour.map(({ companyId, entries }) => [{ company_id: companyId }, entries]),
  ),
]
