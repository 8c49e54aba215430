import { Button, Group, Skeleton, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api, read, type Schemas } from '../../api/client.ts'
import { useMay } from '../../api/session.ts'
import { ConfirmDialog, DetailsDrawer } from '../../components/dialogs.tsx'
import { EmptyState, QueryState } from '../../components/states.tsx'
import { useChange } from '../../components/use-change.ts'
import { IdText, TimeText } from '../../components/values.tsx'
import { useFormat } from '../../lib/format.ts'
import classes from './Overview.module.css'

type LedgerDay = Schemas['Ledger']['days'][number]

/** What is missing since a day (UTC): the losses of each day are acknowledged together. */
export default function LedgerDrawer({ since, onClose }: { since: string; onClose: () => void }) {
  const { t } = useTranslation('overview')
  const query = useQuery(read('/admin/ledger', { query: { since } }))
  const [asking, setAsking] = useState<string | null>(null)
  return (
    <DetailsDrawer opened onClose={onClose} title={t('ledger.title')}>
      <QueryState query={query} skeleton={<Skeleton height={240} />}>
        {({ days }) => <Losses losses={days.filter(row => row.imbalance > 0)} onAcknowledge={setAsking} />}
      </QueryState>
      <Acknowledge day={asking} onClose={() => setAsking(null)} />
    </DetailsDrawer>
  )
}

const acknowledgedOf = ({ acknowledged }: LedgerDay) => acknowledged?.emails ?? 0

function Losses({ losses, onAcknowledge }: { losses: LedgerDay[]; onAcknowledge: (day: string) => void }) {
  const { t } = useTranslation('overview')
  const { utcDate } = useFormat()
  const mayAcknowledge = useMay('administrator')
  const open = losses.filter(loss => loss.imbalance > acknowledgedOf(loss))
  const known = losses.filter(loss => loss.imbalance === acknowledgedOf(loss))
  const days = [...new Set(open.map(loss => loss.day))]
  return (
    <Stack gap="md">
      {open.length === 0 ? (
        <EmptyState title={t('ledger.none')} hint={t('ledger.noneHint')} />
      ) : (
        <Text size="sm">{t('ledger.what')}</Text>
      )}
      {days.map(day => (
        <LossList key={day} title={`${utcDate(day)} (UTC)`} losses={open.filter(loss => loss.day === day)}>
          {mayAcknowledge && (
            <Button size="compact-sm" variant="default" onClick={() => onAcknowledge(day)}>
              {t('ledger.acknowledge')}
            </Button>
          )}
        </LossList>
      ))}
      {known.length > 0 && <LossList title={t('ledger.acknowledged')} losses={known} />}
    </Stack>
  )
}

function LossList({ title, losses, children }: { title: string; losses: LedgerDay[]; children?: ReactNode }) {
  return (
    <section>
      <Group justify="space-between" mb={4}>
        <Title order={3} size="h5">
          {title}
        </Title>
        {children}
      </Group>
      <ul className={classes.list}>
        {losses.map(loss => (
          <Loss key={`${loss.day} ${loss.companyId}`} loss={loss} />
        ))}
      </ul>
    </section>
  )
}

function Loss({ loss }: { loss: LedgerDay }) {
  const { t } = useTranslation('overview')
  const { utcDate } = useFormat()
  const { day, companyId, companyName, accepted, imbalance, missing, imbalancedSince, acknowledged } = loss
  const unnamed = imbalance - missing.length
  return (
    <li>
      <div className={classes.what}>
        {companyName ?? <IdText id={companyId} />}: {t('ledger.lost', { count: imbalance, accepted })}
        <div className="quiet">
          {t('ledger.found')} <TimeText at={imbalancedSince!} />
        </div>
        {missing.map(id => (
          <div key={id} className="quiet">
            <IdText id={id} whole />
          </div>
        ))}
        {unnamed > 0 && <div className="quiet">{t('ledger.unnamed', { count: unnamed })}</div>}
        {acknowledged && (
          <div className="quiet">
            {utcDate(day)} (UTC) · {t('ledger.known', { count: acknowledged.emails })} · {acknowledged.by},{' '}
            <TimeText at={acknowledged.at} />: {acknowledged.reason}
          </div>
        )}
      </div>
    </li>
  )
}

function Acknowledge({ day, onClose }: { day: string | null; onClose: () => void }) {
  const { t } = useTranslation('overview')
  const { utcDate } = useFormat()
  const change = useChange('/admin/overview', '/admin/ledger')
  const acknowledge = (reason: string) =>
    change(api.POST('/admin/ledger/acknowledge', { body: { day: day!, reason } }), ({ acknowledged }) =>
      t('ledger.done', { count: acknowledged.reduce((sum, { emails }) => sum + emails, 0) }),
    )
  return (
    <ConfirmDialog
      opened={day !== null}
      onClose={onClose}
      title={day === null ? '' : t('ledger.acknowledgeDay', { day: utcDate(day) })}
      verb={t('ledger.acknowledge')}
      consequence={t('ledger.consequence')}
      askReason
      onConfirm={acknowledge}
    />
  )
}
