import { useTranslation } from 'react-i18next'
import { ChartCard } from '../../components/ChartCard.tsx'
import { LineChart } from '../../components/LineChart.tsx'
import { useFormat } from '../../lib/format.ts'
import { firstUnfinished } from '../../lib/unfinished.ts'
import { COUNTED, type Counted, type Overview, type Range } from './data.ts'

const HEIGHT = 260
const COLOURS: Record<keyof Counted, string> = {
  accepted: 'light-dark(#6c757d, #9aa4ae)',
  sent: 'light-dark(#1c64b4, #6aa9ea)',
  delivered: 'light-dark(#1a7f37, #3fb950)',
  bounced: 'light-dark(#c2362b, #ff7b72)',
  complained: 'light-dark(#7a3bbf, #c297f5)',
  failed: 'light-dark(#9a5b00, #e3a53b)',
}

export function SeriesChart({ overview, range }: { overview: Overview; range: Range }) {
  const { t } = useTranslation('overview')
  const format = useFormat()
  const unit = useUnit(overview.range.bucketSeconds)
  // The first hour of 24 has the time of the last one.
  const formatRow = range === '30d' ? format.utcDay : format.dateTime
  const formatTime = { '1h': format.time, '24h': format.time, '7d': format.dateTime, '30d': format.utcDay }[range]
  const unfinishedFrom = firstUnfinished(overview.series, overview.range.bucketSeconds, overview.countedUntil)
  const series = COUNTED.map(name => ({ name, label: t(`counted.${name}`), color: COLOURS[name] }))
  return (
    <ChartCard
      question={t('chart.question')}
      unit={`${unit}; ${t('chart.recipients')}; ${t('chart.until', { from: format.dateTime(overview.series[0]!.at), time: format.time(overview.countedUntil) })}`}
      table={{
        unfinishedFrom,
        head: [t(range === '30d' ? 'chart.day' : 'chart.time'), ...series.map(({ label }) => label)],
        rows: overview.series.map(row => [formatRow(row.at), ...COUNTED.map(name => format.number(row[name]))]),
      }}
      chart={
        <LineChart
          label={`${t('chart.question')} ${unit}`}
          points={overview.series}
          series={series}
          formatTime={formatTime}
          formatValue={format.number}
          formatTick={format.compact}
          height={HEIGHT}
          unfinishedFrom={unfinishedFrom}
        />
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
