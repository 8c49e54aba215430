import { useTranslation } from 'react-i18next'
import { ChartCard, LineChart } from '../../components/charts.tsx'
import { useFormat } from '../../lib/format.ts'
import { firstUnfinished } from '../../lib/points.ts'
import type { Range } from '../../searches.ts'

const COLOURS = {
  accepted: 'light-dark(#6c757d, #9aa4ae)',
  sent: 'light-dark(#1c64b4, #6aa9ea)',
  delivered: 'light-dark(#1a7f37, #3fb950)',
  bounced: 'light-dark(#c2362b, #ff7b72)',
  complained: 'light-dark(#7a3bbf, #c297f5)',
  failed: 'light-dark(#9a5b00, #e3a53b)',
}
export type Counted = keyof typeof COLOURS
export const COUNTED = Object.keys(COLOURS) as Counted[]

type CountsChartProps = {
  question: string
  rows: ({ at: string } & Record<Counted, number>)[]
  range: Range
  bucketSeconds: number
  countedUntil: string
}

/** What became of the e-mails, over time. */
export function CountsChart({ question, rows, range, bucketSeconds, countedUntil }: CountsChartProps) {
  const { t } = useTranslation('overview')
  const format = useFormat()
  const unit = useUnit(bucketSeconds)
  // The first hour of 24 has the time of the last one.
  const formatRow = range === '30d' ? format.utcDay : format.dateTime
  const formatTime = { '1h': format.time, '24h': format.time, '7d': format.dateTime, '30d': format.utcDay }[range]
  const unfinishedFrom = firstUnfinished(rows, bucketSeconds, countedUntil)
  const series = COUNTED.map(name => ({ name, label: t(`counted.${name}`), color: COLOURS[name] }))
  const counted = t('chart.until', { from: format.dateTime(rows[0]!.at), time: format.time(countedUntil) })
  return (
    <ChartCard
      question={question}
      unit={`${unit}; ${t('chart.recipients')}; ${counted}`}
      table={{
        unfinishedFrom,
        head: [t(range === '30d' ? 'chart.day' : 'chart.time'), ...series.map(({ label }) => label)],
        rows: rows.map(row => [formatRow(row.at), ...COUNTED.map(name => format.number(row[name]))]),
      }}
      chart={
        <LineChart
          label={`${question} ${unit}`}
          points={rows}
          series={series}
          formatTime={formatTime}
          formatValue={format.number}
          formatTick={format.compact}
          height={260}
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
