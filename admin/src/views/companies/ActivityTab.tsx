import { SegmentedControl, Skeleton, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import type { Schemas } from '../../api/client.ts'
import { ACTIVITY_RANGES, type ActivityRange, activityQuery, type Company } from '../../api/company.ts'
import { ChartCard } from '../../components/ChartCard.tsx'
import { LineChart } from '../../components/LineChart.tsx'
import { QueryState } from '../../components/QueryState.tsx'
import { Tile, Tiles } from '../../components/Tile.tsx'
import { useFormat } from '../../lib/format.ts'
import { firstUnfinished } from '../../lib/unfinished.ts'

const route = getRouteApi('/signed-in/companies/$companyId/$tab')

const COLOURS = {
  accepted: 'light-dark(#6c757d, #9aa4ae)',
  sent: 'light-dark(#1c64b4, #6aa9ea)',
  delivered: 'light-dark(#1a7f37, #3fb950)',
  bounced: 'light-dark(#c2362b, #ff7b72)',
  complained: 'light-dark(#7a3bbf, #c297f5)',
  failed: 'light-dark(#9a5b00, #e3a53b)',
} as const
type Counted = keyof typeof COLOURS
const COUNTED = Object.keys(COLOURS) as Counted[]
/** Providers report about each recipient; the others are counts of e-mails. */
const RECIPIENTS: ReadonlySet<Counted> = new Set(['delivered', 'bounced', 'complained'])

export function ActivityTab({ company: { companyId } }: { company: Company }) {
  const { t } = useTranslation('companies')
  const { t: common } = useTranslation()
  const { range = '24h' } = route.useSearch()
  const navigate = useNavigate()
  const query = useQuery(activityQuery(companyId, range))
  return (
    <Stack gap="md">
      <SegmentedControl
        aria-label={t('activity.range')}
        value={range}
        data={ACTIVITY_RANGES.map(value => ({ value, label: common(`rangesShort.${value}`) }))}
        onChange={next =>
          void navigate({
            to: '/companies/$companyId/$tab',
            params: { companyId, tab: 'activity' },
            search: { range: next as ActivityRange },
            replace: true,
          })
        }
        style={{ alignSelf: 'flex-start' }}
      />
      <QueryState query={query} skeleton={<Skeleton height={420} />}>
        {activity => <Activity activity={activity} range={range} />}
      </QueryState>
    </Stack>
  )
}

function Activity({ activity, range }: { activity: Schemas['CompanyActivity']; range: ActivityRange }) {
  const { t } = useTranslation('companies')
  const format = useFormat()
  const { step, countedUntil } = activity
  // As the overview counts them.
  const data = activity.data.map(row => ({ ...row, failed: row.failed + row.rejected + row.expired }))
  const sum = (name: Counted | 'suppressed') => data.reduce((total, row) => total + row[name], 0)
  const suppressed = sum('suppressed')
  const hintOf = (name: Counted) => {
    const counted = t(RECIPIENTS.has(name) ? 'activity.recipientsCounted' : 'activity.emailsCounted', {
      count: sum(name),
    })
    const isFirst = name === 'accepted' && suppressed > 0
    return isFirst ? `${counted}; ${t('activity.suppressed', { count: suppressed })}` : counted
  }
  const unit = t(step === 'hour' ? 'activity.unitHour' : 'activity.unitDay')
  const unfinishedFrom = firstUnfinished(data, step === 'hour' ? 3_600 : 86_400, countedUntil)
  // The first hour of 24 has the time of the last one.
  const formatRow = range === '30d' ? format.utcDay : format.dateTime
  const formatTime = { '24h': format.time, '7d': format.dateTime, '30d': format.utcDay }[range]
  return (
    <>
      <Tiles>
        {COUNTED.map(name => (
          <Tile key={name} label={t(`activity.series.${name}`)} value={format.number(sum(name))} hint={hintOf(name)} />
        ))}
      </Tiles>
      <ChartCard
        question={t('activity.question')}
        unit={`${unit}; ${t('activity.recipients')}; ${t('activity.until', { from: format.dateTime(data[0]!.at), time: format.time(countedUntil) })}`}
        table={{
          unfinishedFrom,
          head: [t('activity.time'), ...COUNTED.map(name => t(`activity.series.${name}`))],
          rows: data.map(row => [formatRow(row.at), ...COUNTED.map(name => format.number(row[name]))]),
        }}
        chart={
          <LineChart
            label={`${t('activity.question')} ${unit}`}
            points={data}
            series={COUNTED.map(name => ({ name, label: t(`activity.series.${name}`), color: COLOURS[name] }))}
            formatTime={formatTime}
            formatValue={format.number}
            formatTick={format.compact}
            height={260}
            unfinishedFrom={unfinishedFrom}
          />
        }
      />
    </>
  )
}
