import { api, read, type Schemas } from '../../api/client.ts'
import type { Company } from '../../api/companies.ts'
import type { DialogState } from '../../components/dialogs.tsx'
import { ListWithNew } from '../../components/ListWithNew.tsx'
import { useChange } from '../../components/use-change.ts'

type ApiKey = Schemas['ApiKey']

import { Button, Checkbox, Group, SegmentedControl, Text, TextInput } from '@mantine/core'
import { IconBan, IconCircleCheck, IconFlask } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useMay } from '../../api/session.ts'
import { ConfirmDialog, FormDialog, SecretOnce } from '../../components/dialogs.tsx'
import { EmptyState } from '../../components/states.tsx'
import { type Column, DataTable } from '../../components/table.tsx'
import { IdText, TimeText, Tone } from '../../components/values.tsx'

export function KeysTab({ company: { companyId } }: { company: Company }) {
  const { t } = useTranslation('companies')
  const change = useChange('/admin/companies')
  const query = useQuery(read('/admin/companies/{companyId}/keys', { path: { companyId } }))
  const may = useMay('administrator')
  const [revoking, setRevoking] = useState<ApiKey | null>(null)
  const revoke = async () => {
    const params = { path: { companyId, keyId: revoking!.keyId } }
    const request = api.POST('/admin/companies/{companyId}/keys/{keyId}/revoke', { params, body: {} })
    await change(request, t('keys.revokeDone'))
  }
  const name = revoking?.name ?? revoking?.keyId ?? ''
  return (
    <ListWithNew label={t('keys.new')} dialog={state => <NewKey {...state} companyId={companyId} />}>
      <DataTable
        label={t('tabs.keys')}
        columns={useColumns(may ? setRevoking : null)}
        query={query}
        rowKey={key => key.keyId}
        empty={<EmptyState title={t('keys.empty')} hint={t('keys.emptyHint')} />}
      />
      <ConfirmDialog
        opened={revoking !== null}
        onClose={() => setRevoking(null)}
        title={t('keys.revokeTitle', { name })}
        verb={t('keys.revokeVerb')}
        consequence={t('keys.revokeConsequence')}
        danger
        typeToConfirm={name}
        onConfirm={revoke}
      />
    </ListWithNew>
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
        <Tone look={mode === 'live' ? ['blue', IconCircleCheck] : ['grey', IconFlask]}>{t(`keys.modes.${mode}`)}</Tone>
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
          <Tone look={['red', IconBan]}>{t('keys.revoked')}</Tone>
        ) : (
          <Group gap="xs">
            <Tone look={['green', IconCircleCheck]}>{t('keys.active')}</Tone>
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

function NewKey({ companyId, ...dialog }: DialogState & { companyId: string }) {
  const { t } = useTranslation('companies')
  const change = useChange('/admin/companies')
  const [name, setName] = useState('')
  const [mode, setMode] = useState<'live' | 'test'>('live')
  const [scopes, setScopes] = useState<Scope[]>([...SCOPES])
  const [secret, setSecret] = useState<string | null>(null)
  const create = async () => {
    const options = { params: { path: { companyId } }, body: { name: name.trim() || null, mode, scopes } }
    setSecret((await change(api.POST('/admin/companies/{companyId}/keys', options))).apiKey)
    setName('')
  }
  return (
    <>
      <FormDialog
        {...dialog}
        title={t('keys.new')}
        verb={t('keys.create')}
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
