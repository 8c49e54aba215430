import { Grid, SegmentedControl, Skeleton, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute, useNavigate } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { useTranslation } from 'react-i18next'
import { CompanyFilter } from '../../components/CompanyFilter.tsx'
import { Filters } from '../../components/Filters.tsx'
import { Page } from '../../components/Page.tsx'
import { QueryState } from '../../components/QueryState.tsx'
import { useLive } from '../../lib/live.ts'
import { AttentionList } from './AttentionList.tsx'
import { overviewQuery, RANGES, type Range } from './data.ts'
import { ProviderStates } from './ProviderStates.tsx'
import { QueueLine } from './QueueLine.tsx'
import type { OverviewSearch } from './routes.ts'
import { SeriesChart } from './SeriesChart.tsx'
import { TotalTiles } from './TotalTiles.tsx'

/** Seldom needed. */
const LedgerDrawer = lazy(() => import('./LedgerDrawer.tsx'))

export const Route = createLazyRoute('/signed-in/')({ component: Overview })

function Overview() {
  const { t } = useTranslation('overview')
  const { ledger, ...place } = Route.useSearch()
  const { range = '24h', company } = place
  const navigate = useNavigate()
  const query = useQuery(overviewQuery(range, company))
  const live = useLive()
  return (
    <Page title={t('title')} actions={<Choices range={range} company={company} />}>
      <QueryState query={query} skeleton={<OverviewSkeleton />}>
        {data => (
          <Stack gap="md" aria-busy={query.isPlaceholderData}>
            <AttentionList attention={data.attention} ofAll={company !== undefined} />
            <TotalTiles totals={data.totals} />
            <SeriesChart overview={data} range={range} />
            <Grid gap="md">
              <Grid.Col span={{ base: 12, md: 5 }}>
                <QueueLine queue={live?.queue ?? data.queue} ofAll={company !== undefined} />
              </Grid.Col>
              <Grid.Col span={{ base: 12, md: 7 }}>
                <ProviderStates providers={data.providers} />
              </Grid.Col>
            </Grid>
          </Stack>
        )}
      </QueryState>
      {ledger && (
        <Suspense>
          <LedgerDrawer since={ledger} onClose={() => void navigate({ to: '/', search: place, resetScroll: false })} />
        </Suspense>
      )}
    </Page>
  )
}

function Choices({ range, company }: { range: Range; company: string | undefined }) {
  const { t } = useTranslation(['overview', 'common'])
  const navigate = useNavigate()
  const show = (search: OverviewSearch) => void navigate({ to: '/', search })
  return (
    <Filters>
      <CompanyFilter value={company} onChange={chosen => show({ range, ...(chosen && { company: chosen }) })} />
      <SegmentedControl
        size="sm"
        aria-label={t('overview:range')}
        value={range}
        data={RANGES.map(value => ({ value, label: t(`common:rangesShort.${value}`) }))}
        onChange={chosen => show({ range: chosen as Range, ...(company && { company }) })}
      />
    </Filters>
  )
}

const OverviewSkeleton = () => (
  <Stack gap="md">
    <Skeleton height={52} />
    <Skeleton height={92} />
    <Skeleton height={372} />
    <Skeleton height={120} />
  </Stack>
)
