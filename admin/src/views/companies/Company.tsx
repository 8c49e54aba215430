import { Button, Group, Skeleton, Stack, Tabs, Text } from '@mantine/core'
import { IconPlayerPause, IconPlayerPlay, IconPlus } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { createLazyRoute, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api, take } from '../../api/client.ts'
import { companiesQuery } from '../../api/companies.ts'
import { type Company as CompanySettings, companyKey, companyQuery } from '../../api/company.ts'
import { useMay } from '../../api/session.ts'
import { templatesQuery } from '../../api/templates.ts'
import { webhooksQuery } from '../../api/webhooks.ts'
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx'
import { IdText } from '../../components/IdText.tsx'
import { LongText } from '../../components/LongText.tsx'
import { notify } from '../../components/notify.ts'
import { Page } from '../../components/Page.tsx'
import { QueryState, StaleBar } from '../../components/QueryState.tsx'
import { NewTemplate } from '../templates/NewTemplate.tsx'
import { TemplateTable } from '../templates/TemplateTable.tsx'
import { NewWebhook } from '../webhooks/NewWebhook.tsx'
import { WebhookTable } from '../webhooks/WebhookTable.tsx'
import { ActivityTab } from './ActivityTab.tsx'
import { AuditTab } from './AuditTab.tsx'
import { FairnessTab } from './FairnessTab.tsx'
import { KeysTab } from './KeysTab.tsx'
import { SettingsTab } from './SettingsTab.tsx'
import { SqlAccessTab } from './SqlAccessTab.tsx'
import { State, StateReason } from './State.tsx'
import { COMPANY_TABS, type CompanyTab } from './tabs.ts'

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
  const query = useQuery(companyQuery(companyId))
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
  const standing = data?.data.find(one => one.companyId === companyId)
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
  const client = useQueryClient()
  const [asking, setAsking] = useState(false)
  const action = pausedAt === null ? 'pause' : 'resume'
  const change = async (reason: string) => {
    const options = { params: { path: { companyId } }, body: { reason } }
    await take(
      action === 'pause'
        ? api.POST('/admin/companies/{companyId}/pause', options)
        : api.POST('/admin/companies/{companyId}/resume', options),
    )
    notify.done(t(`${action}.done`, { name }))
    await Promise.all([
      client.invalidateQueries({ queryKey: companyKey(companyId) }),
      client.invalidateQueries({ queryKey: companiesQuery.queryKey }),
    ])
  }
  if (!useMay('administrator')) return null
  const verb = t(`${action}.verb`, { name: shortened(name) })
  const wholeVerb = t(`${action}.verb`, { name })
  return (
    <>
      <Button
        variant="default"
        leftSection={action === 'pause' ? <IconPlayerPause size={16} /> : <IconPlayerPlay size={16} />}
        onClick={() => setAsking(true)}
        maw="100%"
        title={wholeVerb}
      >
        <Text span inherit truncate>
          {verb}
        </Text>
      </Button>
      <ConfirmDialog
        opened={asking}
        onClose={() => setAsking(false)}
        title={wholeVerb}
        verb={verb}
        consequence={t(`${action}.consequence`)}
        danger={action === 'pause'}
        askReason
        onConfirm={change}
      />
    </>
  )
}

/** A button has room for the beginning of a long name. */
const shortened = (name: string) => (name.length > 30 ? `${name.slice(0, 29)}…` : name)

function TemplatesTab({ company: { companyId, name } }: { company: CompanySettings }) {
  const { t } = useTranslation('templates')
  const query = useQuery(templatesQuery({ companyId, limit: 200 }))
  const [creating, setCreating] = useState(false)
  return (
    <Stack gap="sm">
      {useMay('administrator') && (
        <Group justify="flex-end">
          <Button leftSection={<IconPlus size={16} />} onClick={() => setCreating(true)}>
            {t('new')}
          </Button>
        </Group>
      )}
      <StaleBar query={query} />
      <TemplateTable rows={query.data?.data} ofCompany />
      <NewTemplate opened={creating} onClose={() => setCreating(false)} companyId={companyId} companyName={name} />
    </Stack>
  )
}

function WebhooksTab({ company: { companyId, name } }: { company: CompanySettings }) {
  const { t } = useTranslation('webhooks')
  const query = useQuery(webhooksQuery({ companyId }))
  const [creating, setCreating] = useState(false)
  return (
    <Stack gap="sm">
      {useMay('administrator') && (
        <Group justify="flex-end">
          <Button leftSection={<IconPlus size={16} />} onClick={() => setCreating(true)}>
            {t('new')}
          </Button>
        </Group>
      )}
      <StaleBar query={query} />
      <WebhookTable rows={query.data?.data} ofCompany />
      <NewWebhook opened={creating} onClose={() => setCreating(false)} companyId={companyId} companyName={name} />
    </Stack>
  )
}
