import { Button, Grid, SegmentedControl, Skeleton, Stack } from '@mantine/core'
import { IconPlus, IconUpload } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useMay } from '../../api/session.ts'
import { BulkActions } from '../../components/bulk/BulkActions.tsx'
import { Page } from '../../components/Page.tsx'
import { QueryState } from '../../components/QueryState.tsx'
import { AddDialog } from './AddDialog.tsx'
import { statsQuery } from './data.ts'
import { EndedTable } from './EndedTable.tsx'
import { EntryDrawer } from './EntryDrawer.tsx'
import { EntryFilters } from './EntryFilters.tsx'
import { EntryTable } from './EntryTable.tsx'
import { GrowthChart, ReasonShares, StatTiles } from './Figures.tsx'
import { ImportDialog } from './ImportDialog.tsx'
import type { Shown, SuppressionSearch } from './routes.ts'

export const Route = createLazyRoute('/signed-in/suppression')({ component: Suppression })

function Suppression() {
  const { t } = useTranslation('suppression')
  const search = Route.useSearch()
  const navigate = useNavigate()
  const show = (next: SuppressionSearch) =>
    void navigate({ to: '/suppression', search: next, resetScroll: next.open === search.open })
  const { show: shown = 'active' } = search
  return (
    <Page title={t('title')} subtitle={t('subtitle')} actions={<Changes />}>
      <FiguresRow />
      <BulkActions kinds={['import-suppressions']} changes={['suppression']} />
      <div>
        <SegmentedControl
          size="sm"
          aria-label={t('show')}
          value={shown}
          data={(['active', 'removed', 'expired'] as const).map(value => ({ value, label: t(`shown.${value}`) }))}
          onChange={value => show(value === 'active' ? {} : { show: value as Shown })}
        />
      </div>
      {shown === 'active' ? (
        <>
          <EntryFilters search={search} show={show} />
          <EntryTable search={search} show={show} />
        </>
      ) : (
        <EndedTable ending={shown === 'removed' ? 'REMOVED' : 'EXPIRED'} search={search} show={show} />
      )}
      <EntryDrawer search={search} show={show} />
    </Page>
  )
}

function FiguresRow() {
  const query = useQuery(statsQuery)
  return (
    <QueryState
      query={query}
      skeleton={
        <Stack gap="md">
          <Skeleton height={92} />
          <Skeleton height={280} />
        </Stack>
      }
    >
      {stats => (
        <>
          <StatTiles stats={stats} />
          <Grid gap="md">
            <Grid.Col span={{ base: 12, md: 8 }}>
              <GrowthChart stats={stats} />
            </Grid.Col>
            <Grid.Col span={{ base: 12, md: 4 }}>
              <ReasonShares stats={stats} />
            </Grid.Col>
          </Grid>
        </>
      )}
    </QueryState>
  )
}

function Changes() {
  const { t } = useTranslation('suppression')
  const [dialog, setDialog] = useState<'add' | 'import' | null>(null)
  if (!useMay('support')) return null
  return (
    <>
      <Button size="sm" leftSection={<IconPlus size={16} />} onClick={() => setDialog('add')}>
        {t('add.button')}
      </Button>
      <Button size="sm" variant="default" leftSection={<IconUpload size={16} />} onClick={() => setDialog('import')}>
        {t('import.button')}
      </Button>
      <AddDialog opened={dialog === 'add'} onClose={() => setDialog(null)} />
      <ImportDialog opened={dialog === 'import'} onClose={() => setDialog(null)} />
    </>
  )
}
