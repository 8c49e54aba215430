import { Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute, useNavigate } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { CompanyFilter, FilterSelect, Filters } from '../../components/Filters.tsx'
import { Page } from '../../components/Page.tsx'
import { cursorPages } from '../../components/table.tsx'
import { WEBHOOK_STATES } from '../../searches.ts'
import { WebhookTable, webhooksQuery } from './WebhookTable.tsx'

export const Route = createLazyRoute('/signed-in/webhooks')({ component: Webhooks })

function Webhooks() {
  const { t } = useTranslation('webhooks')
  const search = Route.useSearch()
  const navigate = useNavigate({ from: '/webhooks' })
  const { cursors, ...filter } = search
  const { companyId, state } = filter
  const query = useQuery(webhooksQuery({ ...filter, cursor: cursors?.at(-1) }))
  const filtered = companyId !== undefined || state !== undefined
  const { counts } = query.data ?? {}
  return (
    <Page title={t('title')} subtitle={counts && t('counts', counts)}>
      <Stack gap="sm">
        <Filters onClear={filtered ? () => void navigate({ search: {} }) : undefined}>
          <CompanyFilter
            value={companyId}
            onChange={chosen => void navigate({ search: { companyId: chosen, state } })}
          />
          <FilterSelect
            label={t('filterState')}
            value={state}
            options={WEBHOOK_STATES.map(value => ({ value, label: t(`states.${value}`) }))}
            onChange={chosen => void navigate({ search: { companyId, state: chosen } })}
          />
        </Filters>
        <WebhookTable
          query={query}
          filtered={filtered}
          pages={cursorPages(
            cursors,
            query.data?.cursor,
            pages => void navigate({ search: { ...filter, cursors: pages } }),
          )}
        />
      </Stack>
    </Page>
  )
}
