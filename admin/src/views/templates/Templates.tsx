import { Stack, TextInput } from '@mantine/core'
import { IconSearch } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute, useNavigate } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { CompanyFilter, Filters } from '../../components/Filters.tsx'
import { Page } from '../../components/Page.tsx'
import { cursorPages } from '../../components/table.tsx'
import { TemplateTable, templatesQuery } from './TemplateTable.tsx'

export const Route = createLazyRoute('/signed-in/templates')({ component: Templates })

function Templates() {
  const { t } = useTranslation('templates')
  const search = Route.useSearch()
  const { cursors, ...place } = search
  const { companyId, q } = place
  const navigate = useNavigate({ from: '/templates' })
  const query = useQuery(templatesQuery({ companyId, text: q, cursor: cursors?.at(-1) }))
  const filtered = companyId !== undefined || q !== undefined
  return (
    <Page title={t('title')}>
      <Stack gap="sm">
        <Filters onClear={filtered ? () => void navigate({ search: {} }) : undefined}>
          <TextInput
            aria-label={t('search')}
            placeholder={t('search')}
            leftSection={<IconSearch size={16} />}
            value={q ?? ''}
            maxLength={64}
            onChange={event => {
              const text = event.currentTarget.value
              void navigate({ search: { companyId, q: text || undefined }, replace: true })
            }}
          />
          <CompanyFilter value={companyId} onChange={chosen => void navigate({ search: { companyId: chosen, q } })} />
        </Filters>
        <TemplateTable
          query={query}
          filtered={filtered}
          pages={cursorPages(
            cursors,
            query.data?.cursor,
            pages => void navigate({ search: { ...place, cursors: pages } }),
          )}
        />
      </Stack>
    </Page>
  )
}
