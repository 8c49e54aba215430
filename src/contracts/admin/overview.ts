import { z } from 'zod'
import { EMAIL_STATUSES } from '../states.ts'

/** `step`: of the statistics; minutes are kept for two hours. */
export const OVERVIEW_RANGES = {
  '1h': { seconds: 3_600, bucketSeconds: 60, step: 'minute' },
  '24h': { seconds: 86_400, bucketSeconds: 3_600, step: 'hour' },
  '7d': { seconds: 7 * 86_400, bucketSeconds: 6 * 3_600, step: 'hour' },
  '30d': { seconds: 30 * 86_400, bucketSeconds: 86_400, step: 'hour' },
} as const
export type OverviewRange = keyof typeof OVERVIEW_RANGES
export const OVERVIEW_RANGE_NAMES = Object.keys(OVERVIEW_RANGES) as [OverviewRange, ...OverviewRange[]]

export const COUNTED = ['accepted', 'sent', 'delivered', 'bounced', 'complained', 'failed'] as const
type Counted = Record<(typeof COUNTED)[number], number>
/** `atMs`: the begin of the bucket. */
export type CountedBucket = Counted & { atMs: number }

const ATTENTION_KINDS = [
  'ledger-imbalance',
  'dead-letters',
  'provider-parked',
  'no-worker',
  'waiting-long',
  'unknown-sends',
  'company-paused',
  'company-warned',
  'webhooks-disabled',
] as const

const instant = z.iso.datetime()
const count = z.int()
const counted = {
  accepted: count.describe('E-mails'),
  sent: count.describe('E-mails'),
  delivered: count.describe('Recipients: an e-mail may have several'),
  bounced: count.describe('Recipients'),
  complained: count.describe('Recipients'),
  failed: count.describe('E-mails that failed, were rejected or expired'),
}

const queueSchema = z
  .object({
    ready: count,
    held: count.describe('Those of the ready ones whose company is paused'),
    scheduled: count,
    unknown: count,
    oldestWaitingSeconds: z
      .number()
      .nullable()
      .describe('Of the ready e-mails that are not held, since it was due; null: there is none'),
    deadLetters: count.describe('Those that can still be replayed'),
  })
  .describe('Each counted up to 100 000')
  .meta({ id: 'QueueCounts' })

export const overviewSchema = z
  .object({
    range: z.object({
      from: instant.describe('The begin of the first bucket, so that the whole range is covered'),
      to: instant,
      bucketSeconds: count,
    }),
    countedUntil: instant.describe('The series and totals hold everything up to this moment'),
    series: z.array(z.object({ at: instant, ...counted })).describe('Events of live e-mails, oldest bucket first'),
    totals: z.object(counted),
    queue: queueSchema,
    providers: z.array(
      z.object({
        name: z.string(),
        state: z
          .enum(['healthy', 'parked', 'open'])
          .describe('parked: its mail waits until nextProbeAt; open: the next e-mail tries it'),
        reason: z.string().nullable(),
        nextProbeAt: instant.nullable(),
        ratePerSecond: z.number().describe('Attempts, over the last ten seconds'),
        maxPerSecond: z.number().nullable().describe('What it allows; null: no limit is known'),
      }),
    ),
    attention: z.array(
      z.object({
        kind: z.enum(ATTENTION_KINDS),
        count,
        since: instant.nullable(),
        code: z.string().nullable().describe('An error code, the name of a provider, or why'),
        companyId: z.uuid().nullable(),
        companyName: z.string().nullable(),
      }),
    ),
  })
  .meta({ id: 'Overview' })

export const liveSchema = z
  .object({
    queue: queueSchema,
    emails: z
      .array(z.object({ outboxId: z.uuid(), companyId: z.uuid(), status: z.enum(EMAIL_STATUSES) }))
      .describe('E-mails with an event in the last ten seconds, newest first, 100 at most'),
  })
  .meta({ id: 'LiveFigures' })

export type Overview = z.output<typeof overviewSchema>
export type LiveFigures = z.output<typeof liveSchema>
export type QueueCounts = z.output<typeof queueSchema>
export type Attention = Overview['attention'][number]

const NOTHING: Counted = { accepted: 0, sent: 0, delivered: 0, bounced: 0, complained: 0, failed: 0 }

/** The begin of the bucket that holds this moment. Buckets begin at whole multiples since 1970, days therefore at midnight UTC. */
const bucketOf = (atMs: number, bucketSeconds: number) => atMs - (atMs % (bucketSeconds * 1000))

/** The begin of the first bucket of a range that ends now. The whole range is covered: the first and the last bucket are parts of it. */
export function rangeBegin(range: OverviewRange, nowMs: number): number {
  const { seconds, bucketSeconds } = OVERVIEW_RANGES[range]
  return bucketOf(nowMs - seconds * 1000, bucketSeconds)
}

/** Every bucket of the range, also those without a row; and the sums. */
export function fillSeries(
  range: OverviewRange,
  nowMs: number,
  rows: CountedBucket[],
): Pick<Overview, 'series' | 'totals'> {
  const { bucketSeconds } = OVERVIEW_RANGES[range]
  const byBegin = new Map<number, Counted>()
  for (const { atMs, ...figures } of rows) {
    const begin = bucketOf(atMs, bucketSeconds)
    byBegin.set(begin, sum(byBegin.get(begin) ?? NOTHING, figures))
  }
  const series: Overview['series'] = []
  for (let begin = rangeBegin(range, nowMs); begin <= nowMs; begin += bucketSeconds * 1000)
    series.push({ at: new Date(begin).toISOString(), ...(byBegin.get(begin) ?? NOTHING) })
  return { series, totals: series.reduce<Counted>((total, { at: _, ...one }) => sum(total, one), NOTHING) }
}

const sum = (a: Counted, b: Counted) =>
  Object.fromEntries(COUNTED.map(name => [name, a[name] + b[name]])) as unknown as Counted
