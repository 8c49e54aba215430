import { SegmentedControl, Skeleton, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { read, type Schemas } from '../../api/client.ts'
import type { Company } from '../../api/companies.ts'
import { Tile, Tiles } from '../../components/Page.tsx'
import { QueryState } from '../../components/states.tsx'
import { useFormat } from '../../lib/format.ts'
import { LONG_RANGES, type LongRange } from '../../searches.ts'
import { COUNTED, type Counted, CountsChart } from '../overview/CountsChart.tsx'

const route = getRouteApi('/signed-in/companies/$companyId/$tab')

/** Providers report about each recipient; the others are counts of e-mails. */
const RECIPIENTS: ReadonlySet<Counted> = new Set(['delivered', 'bounced', 'complained'])

export function ActivityTab({ company: { companyId } }: { company: Company }) {
  const { t } = useTranslation('companies')
  const { t: common } = useTranslation()
  const { range = '24h' } = route.useSearch()
  const navigate = useNavigate()
  const query = useQuery({
    ...read('/admin/companies/{companyId}/activity', { path: { companyId }, query: { range } }),
    refetchInterval: 60_000,
  })
  return (
    <Stack gap="md">
      <SegmentedControl
        aria-label={t('activity.range')}
        value={range}
        data={LONG_RANGES.map(value => ({ value, label: common(`rangesShort.${value}`) }))}
        onChange={next =>
          void navigate({
            to: '/companies/$companyId/$tab',
            params: { companyId, tab: 'activity' },
            search: { range: next as LongRange },
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

function Activity({ activity, range }: { activity: Schemas['CompanyActivity']; range: LongRange }) {
  const { t } = useTranslation(['overview', 'companies'])
  const format = useFormat()
  const { step, countedUntil } = activity
  // As the overview counts them.
  const rows = activity.data.map(row => ({ ...row, failed: row.failed + row.rejected + row.expired }))
  const sum = (name: Counted | 'suppressed') => rows.reduce((total, row) => total + row[name], 0)
  const suppressed = sum('suppressed')
  const hintOf = (name: Counted) => {
    const counted = t(RECIPIENTS.has(name) ? 'overview:countOf.recipients' : 'overview:countOf.emails', {
      count: sum(name),
    })
    const isFirst = name === 'accepted' && suppressed > 0
    return isFirst ? `${counted}; ${t('companies:activity.suppressed', { count: suppressed })}` : counted
  }
  return (
    <>
      <Tiles>
        {COUNTED.map(name => (
          <Tile key={name} label={t(`overview:counted.${name}`)} value={format.number(sum(name))} hint={hintOf(name)} />
        ))}
      </Tiles>
      <CountsChart
        question={t('companies:activity.question')}
        rows={rows}
        range={range}
        bucketSeconds={step === 'hour' ? 3_600 : 86_400}
        countedUntil={countedUntil}
      />
    </>
  )
}
