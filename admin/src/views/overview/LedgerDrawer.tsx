import { Button, Group, Skeleton, Stack, Text, Title } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api, take } from '../../api/client.ts'
import { useMay } from '../../api/session.ts'
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx'
import { DetailsDrawer } from '../../components/DetailsDrawer.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { IdText } from '../../components/IdText.tsx'
import { notify } from '../../components/notify.ts'
import { QueryState } from '../../components/QueryState.tsx'
import { TimeText } from '../../components/TimeText.tsx'
import { useFormat } from '../../lib/format.ts'
import { type LedgerFault, ledgerQuery, OVERVIEW_KEY } from './data.ts'
import classes from './Overview.module.css'

/** As many as the gateway answers. */
const MAX_FAULTS = 1_000

/** What the ledger has found since a day (UTC): the findings of each day are acknowledged together. */
export default function LedgerDrawer({ since, onClose }: { since: string; onClose: () => void }) {
  const { t } = useTranslation('overview')
  const query = useQuery(ledgerQuery(since))
  const [asking, setAsking] = useState<string | null>(null)
  return (
    <DetailsDrawer opened onClose={onClose} title={t('ledger.title')}>
      <QueryState query={query} skeleton={<Skeleton height={240} />}>
        {({ faults }) => <Findings faults={faults} onAcknowledge={setAsking} />}
      </QueryState>
      <Acknowledge day={asking} onClose={() => setAsking(null)} />
    </DetailsDrawer>
  )
}

function Findings({ faults, onAcknowledge }: { faults: LedgerFault[]; onAcknowledge: (day: string) => void }) {
  const { t } = useTranslation('overview')
  const { utcDate } = useFormat()
  const mayAcknowledge = useMay('administrator')
  const open = faults.filter(fault => !fault.acknowledged)
  const known = faults.filter(fault => fault.acknowledged)
  const days = [...new Set(open.map(fault => fault.day))]
  return (
    <Stack gap="md">
      {open.length === 0 ? (
        <EmptyState title={t('ledger.none')} hint={t('ledger.noneHint')} />
      ) : (
        <Text size="sm">{t('ledger.what')}</Text>
      )}
      {days.map(day => (
        <FaultList key={day} title={`${utcDate(day)} (UTC)`} faults={open.filter(fault => fault.day === day)}>
          {mayAcknowledge && (
            <Button size="compact-sm" variant="default" onClick={() => onAcknowledge(day)}>
              {t('ledger.acknowledge')}
            </Button>
          )}
        </FaultList>
      ))}
      {known.length > 0 && <FaultList title={t('ledger.acknowledged')} faults={known} />}
      {faults.length >= MAX_FAULTS && <Text size="sm">{t('ledger.more', { count: MAX_FAULTS })}</Text>}
    </Stack>
  )
}

function FaultList({ title, faults, children }: { title: string; faults: LedgerFault[]; children?: ReactNode }) {
  return (
    <section>
      <Group justify="space-between" mb={4}>
        <Title order={3} size="h5">
          {title}
        </Title>
        {children}
      </Group>
      <ul className={classes.list}>
        {faults.map(fault => (
          <Fault key={`${fault.day} ${fault.kind} ${fault.outboxId} ${fault.companyId}`} fault={fault} />
        ))}
      </ul>
    </section>
  )
}

function Fault({ fault }: { fault: LedgerFault }) {
  const { t } = useTranslation('overview')
  const { utcDate } = useFormat()
  const { kind, day, outboxId, companyName, emails, foundAt, acknowledged } = fault
  return (
    <li>
      <div className={classes.what}>
        {t(`ledger.kinds.${kind}`)}
        <div className="quiet">{outboxId === null ? t('ledger.noId') : <IdText id={outboxId} whole />}</div>
        <div className="quiet">
          {companyName && `${companyName} · `}
          {t('ledger.emails', { count: emails })} · {t('ledger.found')} <TimeText at={foundAt} />
        </div>
        {acknowledged && (
          <div className="quiet">
            {utcDate(day)} (UTC) · {acknowledged.by}, <TimeText at={acknowledged.at} />: {acknowledged.reason}
          </div>
        )}
      </div>
    </li>
  )
}

function Acknowledge({ day, onClose }: { day: string | null; onClose: () => void }) {
  const { t } = useTranslation('overview')
  const { utcDate } = useFormat()
  const client = useQueryClient()
  const acknowledge = async (reason: string) => {
    const { acknowledged } = await take(api.POST('/admin/ledger/acknowledge', { body: { day: day!, reason } }))
    notify.done(t('ledger.done', { count: acknowledged.length }))
    await client.invalidateQueries({ queryKey: [OVERVIEW_KEY] })
  }
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
