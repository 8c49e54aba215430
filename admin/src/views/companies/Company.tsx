import { Skeleton, Tabs, Text } from '@mantine/core'
import { IconPlayerPause, IconPlayerPlay } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute, useNavigate } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { api, read } from '../../api/client.ts'
import { type Company as CompanySettings, companiesQuery } from '../../api/companies.ts'
import { useMay } from '../../api/session.ts'
import { ConfirmDialog, DialogButton } from '../../components/dialogs.tsx'
import { Page } from '../../components/Page.tsx'
import { QueryState } from '../../components/states.tsx'
import { useChange } from '../../components/use-change.ts'
import { IdText, LongText } from '../../components/values.tsx'
import { COMPANY_TABS, type CompanyTab } from '../../searches.ts'
import { TemplatesTab } from '../templates/TemplateTable.tsx'
import { WebhooksTab } from '../webhooks/WebhookTable.tsx'
import { ActivityTab } from './ActivityTab.tsx'
import { AuditTab } from './AuditTab.tsx'
import { FairnessTab } from './FairnessTab.tsx'
import { KeysTab } from './KeysTab.tsx'
import { SettingsTab } from './SettingsTab.tsx'
import { SqlAccessTab } from './SqlAccessTab.tsx'
import { State, StateReason } from './State.tsx'

export const Route = createLazyRoute('/signed-in/companies/$companyId/$tab')({ component: Company })

const CONTENT: Record<CompanyTab, (props: { company: CompanySettings }) => React.ReactNode> = {
  activity: ActivityTab,
  fairness: FairnessTab,
  keys: KeysTab,
  webhooks: WebhooksTab,
  templates: TemplatesTab,
  domains: SettingsTab,
  'sql-access': SqlAccessTab,
  audit: AuditTab,
}

function Company() {
  const { t } = useTranslation('companies')
  const { companyId, tab } = Route.useParams()
  const navigate = useNavigate()
  const query = useQuery(read('/admin/companies/{companyId}', { path: { companyId } }))
  const Content = CONTENT[tab]
  return (
    <Page
      title={query.data?.name ?? t('company')}
      subtitle={<Subtitle companyId={companyId} />}
      back={{ to: '/companies', label: t('title') }}
      actions={query.data && <PauseButton company={query.data} />}
    >
      <QueryState query={query} skeleton={<Skeleton height={320} />}>
        {company => (
          <Tabs
            value={tab}
            onChange={next =>
              next &&
              void navigate({ to: '/companies/$companyId/$tab', params: { companyId, tab: next as CompanyTab } })
            }
            keepMounted={false}
          >
            <Tabs.List aria-label={t('tabs.label')} mb="md">
              {COMPANY_TABS.map(name => (
                <Tabs.Tab key={name} value={name}>
                  {t(`tabs.${name}`)}
                </Tabs.Tab>
              ))}
            </Tabs.List>
            {COMPANY_TABS.map(name => (
              <Tabs.Panel key={name} value={name}>
                {name === tab && <Content company={company} />}
              </Tabs.Panel>
            ))}
          </Tabs>
        )}
      </QueryState>
    </Page>
  )
}

function Subtitle({ companyId }: { companyId: string }) {
  const { data } = useQuery(companiesQuery)
  const standing = data?.data.find(company => company.companyId === companyId)
  return (
    <>
      {standing && (
        <>
          <State state={standing.state} />{' '}
        </>
      )}
      <IdText id={companyId} />
      {standing && standing.state !== 'active' && (
        <LongText>
          <StateReason company={standing} />
        </LongText>
      )}
    </>
  )
}

function PauseButton({ company: { companyId, name, pausedAt } }: { company: CompanySettings }) {
  const { t } = useTranslation('companies')
  const change = useChange('/admin/companies')
  const action = pausedAt === null ? 'pause' : 'resume'
  const path = `/admin/companies/{companyId}/${action}` as const
  if (!useMay('administrator')) return null
  const verb = t(`${action}.verb`, { name: shortened(name) })
  const wholeVerb = t(`${action}.verb`, { name })
  return (
    <DialogButton
      variant="default"
      leftSection={action === 'pause' ? <IconPlayerPause size={16} /> : <IconPlayerPlay size={16} />}
      maw="100%"
      title={wholeVerb}
      dialog={state => (
        <ConfirmDialog
          {...state}
          title={wholeVerb}
          verb={verb}
          consequence={t(`${action}.consequence`)}
          danger={action === 'pause'}
          askReason
          onConfirm={reason =>
            change(api.POST(path, { params: { path: { companyId } }, body: { reason } }), t(`${action}.done`, { name }))
          }
        />
      )}
    >
      <Text span inherit truncate>
        {verb}
      </Text>
    </DialogButton>
  )
}

/** A button has room for the beginning of a long name. */
const shortened = (name: string) => (name.length > 30 ? `${name.slice(0, 29)}…` : name)
