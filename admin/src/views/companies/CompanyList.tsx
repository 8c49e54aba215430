import { Button, Stack, Text, TextInput } from '@mantine/core'
import { IconPlus, IconSearch } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { type CompanyStanding, companiesQuery } from '../../api/companies.ts'
import { useMay } from '../../api/session.ts'
import { type Column, DataTable } from '../../components/DataTable.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { ErrorState } from '../../components/ErrorState.tsx'
import { Filters } from '../../components/Filters.tsx'
import { TextLink } from '../../components/links.tsx'
import { Page } from '../../components/Page.tsx'
import { StaleBar } from '../../components/QueryState.tsx'
import { useFormat } from '../../lib/format.ts'
import { CreateCompany } from './CreateCompany.tsx'
import { State, StateReason } from './State.tsx'

export const Route = createLazyRoute('/signed-in/companies')({ component: CompanyList })

function CompanyList() {
  const { t } = useTranslation('companies')
  const navigate = useNavigate({ from: '/companies' })
  const { q = '' } = Route.useSearch()
  const query = useQuery({ ...companiesQuery, refetchInterval: 15_000 })
  const columns = useColumns()
  const [creating, setCreating] = useState(false)
  const mayCreate = useMay('administrator')
  const rows = query.data?.data.filter(({ name }) => name.toLowerCase().includes(q.toLowerCase()))
  const create = mayCreate && (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setCreating(true)}>
      {t('create.open')}
    </Button>
  )
  return (
    <Page title={t('title')} actions={create}>
      {query.error && !query.data ? (
        <ErrorState error={query.error} reset={() => void query.refetch()} />
      ) : (
        <Stack gap="sm">
          <StaleBar query={query} />
          <Filters>
            <TextInput
              aria-label={t('search')}
              placeholder={t('search')}
              leftSection={<IconSearch size={16} />}
              value={q}
              onChange={event => {
                const text = event.currentTarget.value
                void navigate({ search: text === '' ? {} : { q: text }, replace: true })
              }}
            />
          </Filters>
          <DataTable
            label={t('title')}
            columns={columns}
            rows={rows}
            rowKey={company => company.companyId}
            onOpen={({ companyId }) =>
              void navigate({ to: '/companies/$companyId/$tab', params: { companyId, tab: 'activity' } })
            }
            empty={
              q === '' ? (
                <EmptyState
                  title={t('empty')}
                  hint={t('emptyHint')}
                  command="npx email-gateway company create acme --from-domains acme.com"
                />
              ) : (
                <EmptyState title={t('none')} />
              )
            }
          />
        </Stack>
      )}
      <CreateCompany opened={creating} onClose={() => setCreating(false)} />
    </Page>
  )
}

/** As many as are counted for one company. */
const MAX_COUNTED = 1_000

function useColumns(): Column<CompanyStanding>[] {
  const { t } = useTranslation('companies')
  const format = useFormat()
  /** Of nothing there is no share. */
  const rate = ({ accepted, bounceRate, complaintRate }: CompanyStanding, share: number) =>
    accepted + bounceRate + complaintRate === 0 ? '–' : format.percent(share)
  return [
    {
      key: 'name',
      header: t('company'),
      wide: true,
      cell: company => (
        <>
          <TextLink
            inherit
            to="/companies/$companyId/$tab"
            params={{ companyId: company.companyId, tab: 'activity' }}
            fw={600}
          >
            {company.name}
          </TextLink>
          {company.isDefault && <span className="quiet"> · {t('isDefault')}</span>}
          {company.state !== 'active' && (
            <Text inherit component="div" lineClamp={4}>
              <StateReason company={company} />
            </Text>
          )}
        </>
      ),
    },
    { key: 'state', header: t('state'), cell: ({ state }) => <State state={state} /> },
    { key: 'accepted', header: t('accepted'), align: 'right', cell: row => format.number(row.accepted) },
    { key: 'bounces', header: t('bounces'), align: 'right', cell: row => rate(row, row.bounceRate) },
    { key: 'complaints', header: t('complaints'), align: 'right', cell: row => rate(row, row.complaintRate) },
    {
      key: 'waiting',
      header: t('waiting'),
      align: 'right',
      cell: ({ waiting, oldestWaitingSeconds }) => (
        <>
          {waiting >= MAX_COUNTED ? t('waitingMore', { count: MAX_COUNTED }) : format.number(waiting)}
          {oldestWaitingSeconds !== null && <div className="quiet nowrap">{format.duration(oldestWaitingSeconds)}</div>}
        </>
      ),
    },
    {
      key: 'webhooks',
      header: t('webhooks'),
      align: 'right',
      cell: ({ webhooks: { enabled, failing, disabled } }) => (
        <>
          {format.number(enabled)}
          {failing > 0 && <div className="quiet">{t('webhooksFailing', { count: failing })}</div>}
          {disabled.length > 0 && <div className="quiet">{t('webhooksDisabled', { count: disabled.length })}</div>}
        </>
      ),
    },
  ]
}
