import { Button, Checkbox, Group, SegmentedControl, Stack, Text, TextInput } from '@mantine/core'
import { IconBan, IconCircleCheck, IconFlask, IconPlus } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api, take } from '../../api/client.ts'
import { type ApiKey, type Company, companyKey, keysQuery } from '../../api/company.ts'
import { useMay } from '../../api/session.ts'
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx'
import { type Column, DataTable } from '../../components/DataTable.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { FormDialog } from '../../components/FormDialog.tsx'
import { IdText } from '../../components/IdText.tsx'
import { notify } from '../../components/notify.ts'
import { StaleBar } from '../../components/QueryState.tsx'
import { SecretOnce } from '../../components/SecretOnce.tsx'
import { TimeText } from '../../components/TimeText.tsx'
import { Tone } from '../../components/Tone.tsx'

export function KeysTab({ company }: { company: Company }) {
  const { t } = useTranslation('companies')
  const { companyId } = company
  const client = useQueryClient()
  const query = useQuery(keysQuery(companyId))
  const may = useMay('administrator')
  const [creating, setCreating] = useState(false)
  const [revoking, setRevoking] = useState<ApiKey | null>(null)
  const refresh = () => client.invalidateQueries({ queryKey: companyKey(companyId) })
  const revoke = async () => {
    const path = { companyId, keyId: revoking!.keyId }
    await take(api.POST('/admin/companies/{companyId}/keys/{keyId}/revoke', { params: { path }, body: {} }))
    notify.done(t('keys.revokeDone'))
    await refresh()
  }
  return (
    <Stack gap="sm">
      {may && (
        <Group justify="flex-end">
          <Button leftSection={<IconPlus size={16} />} onClick={() => setCreating(true)}>
            {t('keys.new')}
          </Button>
        </Group>
      )}
      <StaleBar query={query} />
      <DataTable
        label={t('tabs.keys')}
        columns={useColumns(may ? setRevoking : null)}
        rows={query.data?.data}
        rowKey={key => key.keyId}
        empty={<EmptyState title={t('keys.empty')} hint={t('keys.emptyHint')} />}
      />
      <NewKey opened={creating} onClose={() => setCreating(false)} companyId={companyId} onMade={refresh} />
      <ConfirmDialog
        opened={revoking !== null}
        onClose={() => setRevoking(null)}
        title={t('keys.revokeTitle', { name: revoking?.name ?? revoking?.keyId ?? '' })}
        verb={t('keys.revokeVerb')}
        consequence={t('keys.revokeConsequence')}
        danger
        typeToConfirm={revoking?.name ?? revoking?.keyId ?? ''}
        onConfirm={revoke}
      />
    </Stack>
  )
}

function useColumns(onRevoke: ((key: ApiKey) => void) | null): Column<ApiKey>[] {
  const { t } = useTranslation('companies')
  return [
    {
      key: 'name',
      header: t('keys.name'),
      wide: true,
      cell: ({ name, mode, keyId }) => (
        <>
          {name ?? <span className="quiet">{t('keys.noName')}</span>}
          <div>
            <IdText id={`sk_${mode}_${keyId}_…`} whole />
          </div>
        </>
      ),
    },
    {
      key: 'mode',
      header: t('keys.mode'),
      cell: ({ mode }) => (
        <Tone tone={mode === 'live' ? 'blue' : 'grey'} icon={mode === 'live' ? IconCircleCheck : IconFlask}>
          {t(`keys.modes.${mode}`)}
        </Tone>
      ),
    },
    {
      key: 'scopes',
      header: t('keys.scopes'),
      cell: ({ scopes }) => <span className="nowrap">{scopes.map(scope => t(`keys.scope.${scope}`)).join(', ')}</span>,
    },
    { key: 'created', header: t('keys.created'), cell: ({ createdAt }) => <TimeText at={createdAt} /> },
    {
      key: 'used',
      header: t('keys.used'),
      cell: ({ lastUsedAt }) =>
        lastUsedAt ? <TimeText at={lastUsedAt} /> : <span className="quiet">{t('keys.never')}</span>,
    },
    {
      key: 'state',
      header: t('keys.state'),
      cell: key =>
        key.revokedAt ? (
          <Tone tone="red" icon={IconBan}>
            {t('keys.revoked')}
          </Tone>
        ) : (
          <Group gap="xs">
            <Tone tone="green" icon={IconCircleCheck}>
              {t('keys.active')}
            </Tone>
            {onRevoke && (
              <Button size="compact-sm" variant="default" onClick={() => onRevoke(key)}>
                {t('keys.revoke')}
              </Button>
            )}
          </Group>
        ),
    },
  ]
}

const SCOPES = ['send', 'read', 'manage'] as const
type Scope = (typeof SCOPES)[number]
type NewKeyProps = { opened: boolean; onClose: () => void; companyId: string; onMade: () => Promise<unknown> }

function NewKey({ opened, onClose, companyId, onMade }: NewKeyProps) {
  const { t } = useTranslation('companies')
  const [name, setName] = useState('')
  const [mode, setMode] = useState<'live' | 'test'>('live')
  const [scopes, setScopes] = useState<Scope[]>([...SCOPES])
  const [secret, setSecret] = useState<string | null>(null)
  const create = async () => {
    const options = { params: { path: { companyId } }, body: { name: name.trim() || null, mode, scopes } }
    setSecret((await take(api.POST('/admin/companies/{companyId}/keys', options))).apiKey)
    setName('')
    await onMade()
  }
  return (
    <>
      <FormDialog
        opened={opened}
        onClose={onClose}
        title={t('keys.new')}
        submit={t('keys.create')}
        onSubmit={create}
        disabled={scopes.length === 0}
        size="md"
      >
        <TextInput
          label={t('keys.name')}
          value={name}
          onChange={event => setName(event.currentTarget.value)}
          maxLength={100}
          data-autofocus
        />
        <div>
          <SegmentedControl
            aria-label={t('keys.mode')}
            fullWidth
            value={mode}
            onChange={setMode}
            data={(['live', 'test'] as const).map(value => ({ value, label: t(`keys.modes.${value}`) }))}
          />
          <Text size="xs" className="quiet">
            {t('keys.modeHint')}
          </Text>
        </div>
        <Checkbox.Group
          label={t('keys.scopes')}
          value={scopes}
          onChange={chosen => setScopes(SCOPES.filter(scope => chosen.includes(scope)))}
        >
          <Group mt={4}>
            {SCOPES.map(scope => (
              <Checkbox key={scope} value={scope} label={t(`keys.scope.${scope}`)} />
            ))}
          </Group>
        </Checkbox.Group>
      </FormDialog>
      <SecretOnce secret={secret} title={t('keys.secretTitle')} onClose={() => setSecret(null)} />
    </>
  )
}
