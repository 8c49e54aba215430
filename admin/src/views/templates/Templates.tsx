import { Stack, TextInput } from '@mantine/core'
import { IconSearch } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute, useNavigate } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { templatesQuery } from '../../api/templates.ts'
import { CompanyFilter } from '../../components/CompanyFilter.tsx'
import { ErrorState } from '../../components/ErrorState.tsx'
import { Filters } from '../../components/Filters.tsx'
import { Page } from '../../components/Page.tsx'
import { StaleBar } from '../../components/QueryState.tsx'
import { cursorPages } from '../../lib/cursor-pages.ts'
import { TemplateTable } from './TemplateTable.tsx'

export const Route = createLazyRoute('/signed-in/templates')({ component: Templates })

function Templates() {
  const { t } = useTranslation('templates')
  const search = Route.useSearch()
  const { cursors, ...place } = search
  const { companyId, q } = place
  const cursor = cursors?.at(-1)
  const navigate = useNavigate({ from: '/templates' })
  const query = useQuery(
    templatesQuery({ ...(companyId && { companyId }), ...(q && { text: q }), ...(cursor && { cursor }) }),
  )
  const filtered = companyId !== undefined || q !== undefined
  return (
    <Page title={t('title')}>
      {query.error && !query.data ? (
        <ErrorState error={query.error} reset={() => void query.refetch()} />
      ) : (
        <Stack gap="sm">
          <StaleBar query={query} />
          <Filters onClear={filtered ? () => void navigate({ search: {} }) : undefined}>
            <TextInput
              aria-label={t('search')}
              placeholder={t('search')}
              leftSection={<IconSearch size={16} />}
              value={q ?? ''}
              maxLength={64}
              onChange={event => {
                const text = event.currentTarget.value
                void navigate({ search: { ...(companyId && { companyId }), ...(text && { q: text }) }, replace: true })
              }}
            />
            <CompanyFilter
              value={companyId}
              onChange={chosen => void navigate({ search: { ...(chosen && { companyId: chosen }), ...(q && { q }) } })}
            />
          </Filters>
          <TemplateTable
            rows={query.data?.data}
            filtered={filtered}
            pages={cursorPages(
              cursors,
              query.data?.cursor,
              pages => void navigate({ search: { ...place, ...(pages && { cursors: pages }) } }),
            )}
          />
        </Stack>
      )}
    </Page>
  )
}
