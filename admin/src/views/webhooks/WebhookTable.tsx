import { Checkbox, SimpleGrid, Text, TextInput } from '@mantine/core'
import { IconAlertTriangle, IconBan, IconCircleCheck } from '@tabler/icons-react'
import { keepPreviousData, queryOptions, type UseQueryResult, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api, read, type Schemas } from '../../api/client.ts'
import type { Company } from '../../api/companies.ts'
import { type DialogState, FormDialog, SecretOnce } from '../../components/dialogs.tsx'
import { ListWithNew } from '../../components/ListWithNew.tsx'
import { EmptyState } from '../../components/states.tsx'
import { type Column, DataTable, type PagesProps } from '../../components/table.tsx'
import { useChange } from '../../components/use-change.ts'
import { NONE, TextLink, TimeText, Tone } from '../../components/values.tsx'
import { useFormat } from '../../lib/format.ts'

export type WebhookOverview = Schemas['WebhookOverview']
export const WEBHOOKS = '/admin/webhooks'

type WebhookFilter = { companyId?: string; state?: 'enabled' | 'failing' | 'disabled'; cursor?: string }

export const webhooksQuery = (query: WebhookFilter) =>
  queryOptions({ ...read(WEBHOOKS, { query }), refetchInterval: 15_000, placeholderData: keepPreviousData })

/** Of the deliveries that were tried; one that failed and is tried again is no success yet. null: none was tried. */
export function successRate({ delivered, failed, retrying }: WebhookOverview['recent']): number | null {
  const tried = delivered + failed + retrying
  return tried === 0 ? null : delivered / tried
}

/** The endpoints of a company, on its page. */
export function WebhooksTab({ company }: { company: Company }) {
  const { t } = useTranslation('webhooks')
  const query = useQuery(webhooksQuery({ companyId: company.companyId }))
  return (
    <ListWithNew label={t('new')} dialog={state => <NewWebhook {...state} company={company} />}>
      <WebhookTable query={query} ofCompany />
    </ListWithNew>
  )
}

type WebhookTableProps = {
  query: UseQueryResult<{ data: WebhookOverview[] }>
  /** On the page of a company: without the column of the company. */
  ofCompany?: boolean
  filtered?: boolean
  pages?: PagesProps
}

export function WebhookTable({ query, ofCompany, filtered, pages }: WebhookTableProps) {
  const { t } = useTranslation('webhooks')
  const navigate = useNavigate()
  return (
    <DataTable
      label={t('title')}
      columns={useColumns().filter(({ key }) => !ofCompany || key !== 'company')}
      query={query}
      rowKey={webhook => webhook.id}
      onOpen={({ id }) => void navigate({ to: '/webhooks/$webhookId', params: { webhookId: id } })}
      empty={
        filtered ? (
          <EmptyState title={t('none')} />
        ) : (
          <EmptyState title={t('empty')} hint={t(ofCompany ? 'emptyHintOfCompany' : 'emptyHint')}>
            {!ofCompany && <TextLink to="/companies">{t('toCompanies')}</TextLink>}
          </EmptyState>
        )
      }
      pages={pages}
    />
  )
}

function useColumns(): Column<WebhookOverview>[] {
  const { t } = useTranslation('webhooks')
  const format = useFormat()
  return [
    {
      key: 'endpoint',
      header: t('endpoint'),
      wide: true,
      cell: ({ id, url, description, test }) => (
        <>
          <TextLink inherit to="/webhooks/$webhookId" params={{ webhookId: id }} lineClamp={2} title={url}>
            {url}
          </TextLink>
          {(description || test) && (
            <Text inherit className="quiet" lineClamp={2} title={description ?? undefined}>
              {[test && t('test'), description].filter(Boolean).join(' · ')}
            </Text>
          )}
        </>
      ),
    },
    {
      key: 'company',
      header: t('company'),
      name: true,
      cell: ({ companyId, companyName }) => (
        <TextLink inherit to="/companies/$companyId/$tab" params={{ companyId, tab: 'webhooks' }}>
          {companyName}
        </TextLink>
      ),
    },
    { key: 'state', header: t('state'), cell: webhook => <WebhookState webhook={webhook} /> },
    {
      key: 'success',
      header: t('success'),
      align: 'right',
      cell: ({ recent }) => {
        const rate = successRate(recent)
        return rate === null ? NONE : format.percent(rate)
      },
    },
    {
      key: 'failure',
      header: t('lastFailure'),
      cell: ({ recent: { lastFailure } }) =>
        lastFailure ? (
          <>
            {lastFailure.status ?? (
              <Text inherit lineClamp={3} title={lastFailure.error ?? undefined}>
                {lastFailure.error}
              </Text>
            )}{' '}
            <span className="quiet">
              <TimeText at={lastFailure.at} />
            </span>
          </>
        ) : (
          NONE
        ),
    },
    { key: 'waiting', header: t('waiting'), align: 'right', cell: ({ waiting }) => format.number(waiting) },
  ]
}

export function WebhookState({ webhook }: { webhook: WebhookOverview }) {
  const { t } = useTranslation('webhooks')
  if (!webhook.enabled)
    return (
      <Tone look={['red', IconBan]}>
        {t('states.disabled')}
        {webhook.disabledReason && ` (${t(`disabledReasons.${webhook.disabledReason}`)})`}
      </Tone>
    )
  return webhook.failingSince ? (
    <Tone look={['amber', IconAlertTriangle]}>{t('states.failing')}</Tone>
  ) : (
    <Tone look={['green', IconCircleCheck]}>{t('states.enabled')}</Tone>
  )
}

const EMPTY: WebhookForm = { url: '', description: '', eventTypes: ['email.sent', 'email.failed'] }

/** A new endpoint; its secret is shown, and then its page opens. */
function NewWebhook({ company: { companyId, name }, ...dialog }: DialogState & { company: Company }) {
  const { t } = useTranslation('webhooks')
  const change = useChange(WEBHOOKS)
  const navigate = useNavigate()
  const [form, setForm] = useState(EMPTY)
  const [test, setTest] = useState(false)
  const [created, setCreated] = useState<Schemas['WebhookWithSecret'] | null>(null)
  const create = async () => {
    const body = { ...form, url: form.url.trim(), description: form.description.trim() || null, test }
    const params = { path: { companyId } }
    setCreated(await change(api.POST('/admin/companies/{companyId}/webhooks', { params, body })))
    setForm(EMPTY)
  }
  const open = () => {
    setCreated(null)
    void navigate({ to: '/webhooks/$webhookId', params: { webhookId: created!.id } })
  }
  return (
    <>
      <WebhookDialog
        {...dialog}
        title={t('newTitle', { name })}
        verb={t('create')}
        form={form}
        onChange={setForm}
        onSubmit={create}
      >
        <Checkbox label={t('testMode')} checked={test} onChange={event => setTest(event.currentTarget.checked)} />
      </WebhookDialog>
      <SecretOnce secret={created?.secret ?? null} title={t('secretTitle')} onClose={open} />
    </>
  )
}

/** What an endpoint can be told, as the gateway knows it. */
const EVENT_TYPES = [
  'email.sent',
  'email.failed',
  'email.delivered',
  'email.bounced',
  'email.complained',
  'email.expired',
  'email.suppressed',
  'company.warned',
  'company.paused',
  'company.dead_letters',
] as const satisfies WebhookOverview['eventTypes']

export type WebhookForm = { url: string; description: string; eventTypes: WebhookOverview['eventTypes'] }

type WebhookDialogProps = DialogState & {
  title: string
  verb: string
  form: WebhookForm
  onChange: (form: WebhookForm) => void
  onSubmit: () => Promise<unknown>
  children?: ReactNode
}

/** The settings of an endpoint, for a new one and for one that is there. */
export function WebhookDialog({ form, onChange, children, ...dialog }: WebhookDialogProps) {
  const { t } = useTranslation('webhooks')
  return (
    <FormDialog
      {...dialog}
      disabled={form.url.trim() === '' || form.eventTypes.length === 0}
      fields={['url', 'description', 'eventTypes']}
    >
      {errorOf => (
        <>
          <TextInput
            label={t('url')}
            description={t('urlHint')}
            type="url"
            error={errorOf('url')}
            value={form.url}
            onChange={event => onChange({ ...form, url: event.currentTarget.value })}
            maxLength={2048}
            placeholder="https://example.com/hooks"
            data-autofocus
          />
          <TextInput
            label={t('description')}
            error={errorOf('description')}
            value={form.description}
            onChange={event => onChange({ ...form, description: event.currentTarget.value })}
            maxLength={200}
          />
          <Checkbox.Group
            label={t('events')}
            description={t('eventsHint')}
            error={errorOf('eventTypes')}
            value={form.eventTypes}
            onChange={chosen => onChange({ ...form, eventTypes: EVENT_TYPES.filter(type => chosen.includes(type)) })}
          >
            <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="xs" mt="xs">
              {EVENT_TYPES.map(type => (
                <Checkbox key={type} value={type} label={<span className="mono">{type}</span>} />
              ))}
            </SimpleGrid>
          </Checkbox.Group>
          {children}
        </>
      )}
    </FormDialog>
  )
}
