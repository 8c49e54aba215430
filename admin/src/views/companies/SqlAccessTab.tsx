import { Group, Skeleton, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api, read, type Schemas } from '../../api/client.ts'
import type { Company } from '../../api/companies.ts'
import { useMay } from '../../api/session.ts'
import { ConfirmDialog, DialogButton, SecretOnce } from '../../components/dialogs.tsx'
import { Facts } from '../../components/facts.tsx'
import { Panel } from '../../components/Page.tsx'
import { QueryState } from '../../components/states.tsx'
import { useChange } from '../../components/use-change.ts'
import { CodeBlock, TimeText } from '../../components/values.tsx'

type Granted = Schemas['GrantedSqlAccess']

export function SqlAccessTab({ company: { companyId, name } }: { company: Company }) {
  const { t } = useTranslation('companies')
  const change = useChange('/admin/companies')
  const query = useQuery(read('/admin/companies/{companyId}/sql-access', { path: { companyId } }))
  const may = useMay('administrator')
  const [granted, setGranted] = useState<Granted | null>(null)
  const options = { params: { path: { companyId } }, body: {} }
  const grant = async () => setGranted(await change(api.POST('/admin/companies/{companyId}/sql-access', options)))
  const revoke = () =>
    change(api.POST('/admin/companies/{companyId}/sql-access/revoke', options), ({ removed }) =>
      t(removed ? 'sql.revoked' : 'sql.notDropped'),
    )
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
                  <DialogButton
                    variant={has ? 'default' : 'filled'}
                    dialog={state => (
                      <ConfirmDialog
                        {...state}
                        title={t(`sql.${word}Title`, { name })}
                        verb={t(`sql.${word}`)}
                        consequence={t(`sql.${word}Consequence`)}
                        onConfirm={grant}
                      />
                    )}
                  >
                    {t(`sql.${word}`)}
                  </DialogButton>
                  {has && (
                    <DialogButton
                      variant="default"
                      dialog={state => (
                        <ConfirmDialog
                          {...state}
                          title={t('sql.revokeTitle', { name })}
                          verb={t('sql.revoke')}
                          consequence={t('sql.revokeConsequence')}
                          danger
                          typeToConfirm={name}
                          onConfirm={revoke}
                        />
                      )}
                    >
                      {t('sql.revoke')}
                    </DialogButton>
                  )}
                </Group>
              )}
            </Stack>
          )
        }}
      </QueryState>
      <SecretOnce
        secret={granted && <Connection granted={granted} />}
        title={t('sql.secretTitle', { name })}
        size="lg"
        onClose={() => setGranted(null)}
      />
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
function Connection({ granted }: { granted: Granted }) {
  const { t } = useTranslation('companies')
  return (
    <>
      <CodeBlock code={granted.url} />
      {!granted.created && (
        <>
          <Text size="sm">{t('sql.statements')}</Text>
          <CodeBlock code={granted.statements.map(statement => `${statement};`).join('\n')} />
        </>
      )}
    </>
  )
}
