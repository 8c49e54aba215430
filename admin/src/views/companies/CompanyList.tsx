import { IconAlertTriangle, IconCircleCheck, IconPlayerPause } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute, useNavigate } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { type CompanyStanding, companiesQuery } from '../../api/companies.ts'
import { type Column, DataTable } from '../../components/DataTable.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { ErrorState } from '../../components/ErrorState.tsx'
import { TextLink } from '../../components/links.tsx'
import { Page } from '../../components/Page.tsx'
import { StaleBar } from '../../components/QueryState.tsx'
import { Tone } from '../../components/Tone.tsx'
import { useFormat } from '../../lib/format.ts'

export const Route = createLazyRoute('/signed-in/companies')({ component: CompanyList })

const STATES = {
  active: ['green', IconCircleCheck],
  warned: ['amber', IconAlertTriangle],
  paused: ['red', IconPlayerPause],
} as const

function CompanyList() {
  const { t } = useTranslation('companies')
  const navigate = useNavigate()
  const query = useQuery(companiesQuery)
  const columns = useColumns()
  return (
    <Page title={t('title')}>
      {query.error && !query.data ? (
        <ErrorState error={query.error} reset={() => void query.refetch()} />
      ) : (
        <>
          <StaleBar query={query} />
          <DataTable
            label={t('title')}
            columns={columns}
            rows={query.data?.data}
            rowKey={company => company.companyId}
            onOpen={({ companyId }) => void navigate({ to: '/companies/$companyId', params: { companyId } })}
            empty={
              <EmptyState
                title={t('empty')}
                hint={t('emptyHint')}
                command="npx email-gateway company create acme --from-domain acme.com"
              />
            }
          />
        </>
      )}
    </Page>
  )
}

function useColumns(): Column<CompanyStanding>[] {
  const { t } = useTranslation('companies')
  const format = useFormat()
  return [
    {
      key: 'name',
      header: t('company'),
      wide: true,
      cell: ({ companyId, name }) => (
        <TextLink to="/companies/$companyId" params={{ companyId }}>
          {name}
        </TextLink>
      ),
    },
    { key: 'state', header: t('state'), cell: ({ state }) => <State state={state} /> },
    { key: 'sent', header: t('sent'), align: 'right', cell: ({ sent }) => format.number(sent) },
    { key: 'bounces', header: t('bounces'), align: 'right', cell: row => format.percent(row.bounceRate) },
    { key: 'complaints', header: t('complaints'), align: 'right', cell: row => format.percent(row.complaintRate) },
  ]
}

function State({ state }: { state: CompanyStanding['state'] }) {
  const { t } = useTranslation('companies')
  const [tone, icon] = STATES[state]
  return (
    <Tone tone={tone} icon={icon}>
      {t(`states.${state}`)}
    </Tone>
  )
}
