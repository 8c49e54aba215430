import { Stack, Text, TextInput } from '@mantine/core'
import { IconPlus, IconSearch } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api, type Schemas } from '../../api/client.ts'
import { type CompanyStanding, companiesQuery } from '../../api/companies.ts'
import { useMay } from '../../api/session.ts'
import { DialogButton, type DialogState, FormDialog, SecretOnce } from '../../components/dialogs.tsx'
import { Filters } from '../../components/Filters.tsx'
import { Page } from '../../components/Page.tsx'
import { EmptyState } from '../../components/states.tsx'
import { type Column, DataTable } from '../../components/table.tsx'
import { useChange } from '../../components/use-change.ts'
import { TextLink } from '../../components/values.tsx'
import { useFormat } from '../../lib/format.ts'
import { SETTINGS_FIELDS, SettingsFields } from './SettingsTab.tsx'
import { State, StateReason } from './State.tsx'
import { formOf, settingsOf } from './settings-form.ts'

export const Route = createLazyRoute('/signed-in/companies')({ component: CompanyList })

function CompanyList() {
  const { t } = useTranslation('companies')
  const navigate = useNavigate({ from: '/companies' })
  const { q = '' } = Route.useSearch()
  const query = useQuery({ ...companiesQuery, refetchInterval: 15_000 })
  const mayCreate = useMay('administrator')
  const rows = query.data?.data.filter(({ name }) => name.toLowerCase().includes(q.toLowerCase()))
  const create = mayCreate && (
    <DialogButton leftSection={<IconPlus size={16} />} dialog={state => <CreateCompany {...state} />}>
      {t('create.open')}
    </DialogButton>
  )
  return (
    <Page title={t('title')} actions={create}>
      <Stack gap="sm">
        <Filters>
          <TextInput
            aria-label={t('search')}
            placeholder={t('search')}
            leftSection={<IconSearch size={16} />}
            value={q}
            onChange={event => {
              const text = event.currentTarget.value
              void navigate({ search: { q: text || undefined }, replace: true })
            }}
          />
        </Filters>
        <DataTable
          label={t('title')}
          columns={useColumns()}
          query={query}
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

/** A new company; its first API key is shown, and then its page opens. */
function CreateCompany(dialog: DialogState) {
  const { t } = useTranslation('companies')
  const change = useChange('/admin/companies')
  const navigate = useNavigate()
  const [name, setName] = useState('')
  const [form, setForm] = useState(formOf())
  const [created, setCreated] = useState<Schemas['CompanyWithKey'] | null>(null)
  const create = async () => {
    const body = { name: name.trim(), ...settingsOf(form) }
    setCreated(await change(api.POST('/admin/companies', { body }), t('create.done', { name: body.name })))
    setName('')
    setForm(formOf())
  }
  const open = () => {
    const { companyId } = created!.company
    setCreated(null)
    void navigate({ to: '/companies/$companyId/$tab', params: { companyId, tab: 'keys' } })
  }
  return (
    <>
      <FormDialog
        {...dialog}
        title={t('create.title')}
        verb={t('create.submit')}
        onSubmit={create}
        disabled={name.trim() === ''}
        fields={['name', ...SETTINGS_FIELDS]}
      >
        {errorOf => (
          <>
            <TextInput
              label={t('form.name')}
              description={t('form.nameHint')}
              error={errorOf('name')}
              value={name}
              onChange={event => setName(event.currentTarget.value)}
              maxLength={100}
              required
              withAsterisk={false}
              data-autofocus
            />
            <SettingsFields form={form} onChange={setForm} errorOf={errorOf} />
          </>
        )}
      </FormDialog>
      <SecretOnce
        secret={created?.apiKey ?? null}
        title={t('create.keyTitle', { name: created?.company.name ?? '' })}
        onClose={open}
      />
    </>
  )
}
