import { Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute, useNavigate } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { WEBHOOK_STATES, webhooksQuery } from '../../api/webhooks.ts'
import { CompanyFilter } from '../../components/CompanyFilter.tsx'
import { ErrorState } from '../../components/ErrorState.tsx'
import { FilterSelect, Filters } from '../../components/Filters.tsx'
import { Page } from '../../components/Page.tsx'
import { StaleBar } from '../../components/QueryState.tsx'
import { cursorPages } from '../../lib/cursor-pages.ts'
import { WebhookTable } from './WebhookTable.tsx'

export const Route = createLazyRoute('/signed-in/webhooks')({ component: Webhooks })

function Webhooks() {
  const { t } = useTranslation('webhooks')
  const search = Route.useSearch()
  const navigate = useNavigate({ from: '/webhooks' })
  const { cursors, ...filter } = search
  const { companyId, state } = filter
  const cursor = cursors?.at(-1)
  const query = useQuery(webhooksQuery({ ...filter, ...(cursor && { cursor }) }))
  const filtered = companyId !== undefined || state !== undefined
  const { counts } = query.data ?? {}
  return (
    <Page title={t('title')} subtitle={counts && t('counts', counts)}>
      {query.error && !query.data ? (
        <ErrorState error={query.error} reset={() => void query.refetch()} />
      ) : (
        <Stack gap="sm">
          <StaleBar query={query} />
          <Filters onClear={filtered ? () => void navigate({ search: {} }) : undefined}>
            <CompanyFilter
              value={companyId}
              onChange={chosen =>
                void navigate({ search: { ...(chosen && { companyId: chosen }), ...(state && { state }) } })
              }
            />
            <FilterSelect
              label={t('filterState')}
              value={state}
              options={WEBHOOK_STATES.map(value => ({ value, label: t(`states.${value}`) }))}
              onChange={chosen =>
                void navigate({ search: { ...(companyId && { companyId }), ...(chosen && { state: chosen }) } })
              }
            />
          </Filters>
          <WebhookTable
            rows={query.data?.data}
            filtered={filtered}
            pages={cursorPages(
              cursors,
              query.data?.cursor,
              pages => void navigate({ search: { ...filter, ...(pages && { cursors: pages }) } }),
            )}
          />
        </Stack>
      )}
    </Page>
  )
}
