import { Button, Group, Modal, Skeleton, Stack, Text } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api, type Schemas, take } from '../../api/client.ts'
import { type Company, companyKey, sqlAccessQuery } from '../../api/company.ts'
import { useMay } from '../../api/session.ts'
import { CodeBlock } from '../../components/CodeBlock.tsx'
import { ConfirmDialog, useCloseLabel } from '../../components/ConfirmDialog.tsx'
import { notify } from '../../components/notify.ts'
import { Panel } from '../../components/Panel.tsx'
import { QueryState } from '../../components/QueryState.tsx'
import { TimeText } from '../../components/TimeText.tsx'
import { Facts } from './Facts.tsx'

type Granted = Schemas['GrantedSqlAccess']

export function SqlAccessTab({ company: { companyId, name } }: { company: Company }) {
  const { t } = useTranslation('companies')
  const client = useQueryClient()
  const query = useQuery(sqlAccessQuery(companyId))
  const may = useMay('administrator')
  const [asking, setAsking] = useState<'grant' | 'revoke' | null>(null)
  const [granted, setGranted] = useState<Granted | null>(null)
  const options = { params: { path: { companyId } }, body: {} }
  const refresh = () => client.invalidateQueries({ queryKey: companyKey(companyId) })
  const grant = async () => {
    setGranted(await take(api.POST('/admin/companies/{companyId}/sql-access', options)))
    await refresh()
  }
  const revoke = async () => {
    const { removed } = await take(api.POST('/admin/companies/{companyId}/sql-access/revoke', options))
    notify.done(t(removed ? 'sql.revoked' : 'sql.notDropped'))
    await refresh()
  }
  return (
    <Panel title={t('sql.title')}>
      <Text size="sm" className="quiet" mb="md" maw={680}>
        {t('sql.hint')}
      </Text>
      <QueryState query={query} skeleton={<Skeleton height={120} />}>
        {access => {
          const has = access.grantedAt !== null
          const word = has ? 'renew' : 'grant'
          return (
            <Stack>
              {has ? <Access access={access} /> : <Text>{t('sql.none')}</Text>}
              {may && (
                <Group>
                  <Button variant={has ? 'default' : 'filled'} onClick={() => setAsking('grant')}>
                    {t(`sql.${word}`)}
                  </Button>
                  {has && (
                    <Button variant="default" onClick={() => setAsking('revoke')}>
                      {t('sql.revoke')}
                    </Button>
                  )}
                </Group>
              )}
              <ConfirmDialog
                opened={asking === 'grant'}
                onClose={() => setAsking(null)}
                title={t(`sql.${word}Title`, { name })}
                verb={t(`sql.${word}`)}
                consequence={t(`sql.${word}Consequence`)}
                onConfirm={grant}
              />
              <ConfirmDialog
                opened={asking === 'revoke'}
                onClose={() => setAsking(null)}
                title={t('sql.revokeTitle', { name })}
                verb={t('sql.revoke')}
                consequence={t('sql.revokeConsequence')}
                danger
                typeToConfirm={name}
                onConfirm={revoke}
              />
            </Stack>
          )
        }}
      </QueryState>
      <Connection granted={granted} name={name} onClose={() => setGranted(null)} />
    </Panel>
  )
}

function Access({ access }: { access: Schemas['SqlAccess'] }) {
  const { t } = useTranslation('companies')
  return (
    <Facts
      facts={[
        [
          t('sql.role'),
          <span key="role" className="mono">
            {access.role}
          </span>,
        ],
        [t('sql.server'), `${access.host}:${access.port}`],
        [t('sql.database'), access.database],
        [t('sql.granted'), <TimeText key="at" at={access.grantedAt} />],
        [t('sql.sessions'), access.sessions],
      ]}
    />
  )
}

/** The connection with its password, and the statements where the gateway may not create roles. */
function Connection({ granted, name, onClose }: { granted: Granted | null; name: string; onClose: () => void }) {
  const { t } = useTranslation('companies')
  const { t: common } = useTranslation()
  return (
    <Modal
      opened={granted !== null}
      onClose={onClose}
      title={t('sql.secretTitle', { name })}
      size="lg"
      closeOnClickOutside={false}
      closeOnEscape={false}
      closeButtonProps={useCloseLabel()}
    >
      <Stack>
        <Text size="sm">{common('secret.once')}</Text>
        <CodeBlock code={granted?.url ?? ''} />
        {granted && !granted.created && (
          <>
            <Text size="sm">{t('sql.statements')}</Text>
            <CodeBlock code={granted.statements.map(one => `${one};`).join('\n')} />
          </>
        )}
        <Button onClick={onClose}>{common('secret.done')}</Button>
      </Stack>
    </Modal>
  )
}
