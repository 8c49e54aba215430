import { Skeleton } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { useTranslation } from 'react-i18next'
import { ChartCard } from '../../components/ChartCard.tsx'
import { useFormat } from '../../lib/format.ts'
import { COUNTED, type Overview, type Range } from './data.ts'

/** The chart library is as large as everything else together, so the figures come before it. */
const SeriesArea = lazy(() => import('./SeriesArea.tsx'))
const HEIGHT = 280

export function SeriesChart({ overview, range }: { overview: Overview; range: Range }) {
  const { t } = useTranslation('overview')
  const format = useFormat()
  const timeOf = (at: string) =>
    range === '30d' ? format.day(at) : range === '7d' ? format.dateTime(at) : format.time(at)
  const names = COUNTED.map(name => t(`counted.${name}`))
  return (
    <ChartCard
      question={t('chart.question')}
      unit={`${useUnit(overview.range.bucketSeconds)}, ${t('chart.until', { time: format.time(overview.countedUntil) })}`}
      table={{
        head: [t('chart.time'), ...names],
        rows: overview.series.map(row => [timeOf(row.at), ...COUNTED.map(name => format.number(row[name]))]),
      }}
      chart={
        <Suspense fallback={<Skeleton height={HEIGHT} />}>
          <SeriesArea series={overview.series} height={HEIGHT} timeOf={timeOf} />
        </Suspense>
      }
    />
  )
}

function useUnit(bucketSeconds: number): string {
  const { t } = useTranslation('overview')
  if (bucketSeconds < 3_600) return t('chart.unitMinute')
  if (bucketSeconds >= 86_400) return t('chart.unitDay')
  return t('chart.unitHours', { count: bucketSeconds / 3_600 })
}
