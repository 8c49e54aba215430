import { Alert, Button, Group, Skeleton, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { read } from '../../api/client.ts'
import { useMay } from '../../api/session.ts'
import { DetailsDrawer } from '../../components/dialogs.tsx'
import { useFailureText } from '../../components/error-text.ts'
import { FactTable } from '../../components/facts.tsx'
import { StatusBadge } from '../../components/StatusBadge.tsx'
import { QueryState } from '../../components/states.tsx'
import { ButtonLink, IdText, TimeText } from '../../components/values.tsx'
import type { DeadLetterSearch } from '../../searches.ts'
import type { ChangeRequest } from './ChangeDialog.tsx'
import { type DeadLetter, dataText, OUTCOME_UNKNOWN } from './queries.ts'

type DrawerProps = {
  search: DeadLetterSearch
  show: (search: DeadLetterSearch) => void
  onChange: (change: ChangeRequest) => void
}

/** One dead letter beside the list; its id is in the URL. */
export function DeadLetterDrawer({ search, show, onChange }: DrawerProps) {
  const { t } = useTranslation('deadLetters')
  const { open, ...place } = search
  return (
    <DetailsDrawer opened={open !== undefined} onClose={() => show(place)} title={t('details')}>
      {open !== undefined && <Details outboxId={open} onChange={onChange} close={() => show(place)} />}
    </DetailsDrawer>
  )
}

type DetailsProps = { outboxId: string; onChange: DrawerProps['onChange']; close: () => void }

function Details({ outboxId, onChange, close }: DetailsProps) {
  const { t } = useTranslation('deadLetters')
  const query = useQuery(read('/admin/dead-letters/{outboxId}', { path: { outboxId } }))
  const mayChange = useMay('support')
  const change = (verb: ChangeRequest['verb'], { lastFailureCode }: DeadLetter) =>
    onChange({ verb, outboxIds: [outboxId], mayArriveTwice: lastFailureCode === OUTCOME_UNKNOWN, onStarted: close })
  return (
    <QueryState query={query} skeleton={<Skeleton height={320} />}>
      {entry => (
        <Stack gap="md">
          <Group gap="xs">
            {mayChange && (
              <>
                <Button size="compact-md" disabled={!entry.replayable} onClick={() => change('replay', entry)}>
                  {t('replay')}
                </Button>
                <Button size="compact-md" variant="default" onClick={() => change('purge', entry)}>
                  {t('purge')}
                </Button>
              </>
            )}
            {entry.status !== null && (
              <ButtonLink size="compact-md" variant="default" to="/emails/$outboxId" params={{ outboxId }}>
                {t('openEmail')}
              </ButtonLink>
            )}
          </Group>
          {!entry.replayable && (
            <Alert color="yellow" variant="light" py="xs">
              {t(entry.payloadPurged ? 'notReplayable.purged' : 'notReplayable.changed')}
            </Alert>
          )}
          <Facts entry={entry} />
          <Attempts entry={entry} />
        </Stack>
      )}
    </QueryState>
  )
}

const FIELDS = [
  'subject',
  'from',
  'to',
  'cc',
  'bcc',
  'templateType',
  'tags',
  'priority',
  'externalId',
  'requestId',
] as const

function Facts({ entry }: { entry: DeadLetter }) {
  const { t } = useTranslation('deadLetters')
  const failureText = useFailureText()
  const facts: [string, ReactNode][] = [
    [t('status'), entry.status ? <StatusBadge key="status" status={entry.status} /> : t('gone')],
    [
      t('code'),
      <span key="code" className="mono">
        {[entry.lastFailureCode, entry.providerCode].filter(Boolean).join(' · ') || t('noCode')}
      </span>,
    ],
    [t('why'), failureText(entry.lastFailureCode, entry.lastFailureReason)],
    [t('company'), entry.companyName],
    [t('enqueued'), <TimeText key="enqueued" at={entry.enqueuedAt} exact />],
    [t('moved'), <TimeText key="moved" at={entry.movedToDLQAt} exact />],
    ...FIELDS.map((field): [string, ReactNode] => [t(`fields.${field}`), dataText(entry, field)]),
    [t('id'), <IdText key="id" id={entry.outboxId} whole />],
  ]
  return <FactTable facts={facts} withTableBorder />
}

function Attempts({ entry: { retryHistory = [] } }: { entry: DeadLetter }) {
  const { t } = useTranslation('deadLetters')
  return (
    <section>
      <Title order={3} size="h5" mb="xs">
        {t('history')}
      </Title>
      {retryHistory.length === 0 && <Text className="quiet">{t('noHistory')}</Text>}
      <Stack gap="xs" component="ol" m={0} pl="lg">
        {retryHistory.map(({ attempt, timestamp, error, providerCode }) => (
          <li key={`${attempt} ${timestamp}`}>
            <Text size="sm" component="div">
              {t('attempt', { attempt })} · <TimeText at={timestamp} exact />
            </Text>
            <Text size="sm" className="mono">
              {[error, providerCode].filter(Boolean).join(' · ')}
            </Text>
          </li>
        ))}
      </Stack>
    </section>
  )
}
