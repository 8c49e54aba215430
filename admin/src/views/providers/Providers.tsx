import { Skeleton, Stack } from '@mantine/core'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { api, take } from '../../api/client.ts'
import { EmptyState } from '../../components/EmptyState.tsx'
import { Page } from '../../components/Page.tsx'
import { QueryState } from '../../components/QueryState.tsx'
import { ProviderCard } from './ProviderCard.tsx'

export const Route = createLazyRoute('/signed-in/providers')({ component: Providers })

const REFRESH_MS = 3_000

const providersQuery = queryOptions({
  queryKey: ['providers'],
  queryFn: ({ signal }) => take(api.GET('/admin/providers', { signal })),
  refetchInterval: REFRESH_MS,
})

function Providers() {
  const { t } = useTranslation('providers')
  const query = useQuery(providersQuery)
  return (
    <Page title={t('title')} subtitle={t('subtitle')}>
      <QueryState query={query} skeleton={<Skeleton height={220} />}>
        {({ data, hours }) =>
          data.length === 0 ? (
            <EmptyState title={t('empty')} hint={t('emptyHint')} />
          ) : (
            <Stack gap="md">
              {data.map(provider => (
                <ProviderCard key={provider.name} provider={provider} hours={hours} />
              ))}
            </Stack>
          )
        }
      </QueryState>
    </Page>
  )
}
