import { Alert, Loader, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { api } from '../../api/client.ts'
import { useCompanyName } from '../../api/companies.ts'
import { BULK_ACTIONS } from '../../components/bulk/BulkActions.tsx'
import { ConfirmDialog } from '../../components/dialogs.tsx'
import { useErrorText } from '../../components/error-text.ts'
import { useChange } from '../../components/use-change.ts'
import { countQuery, type DeadLetterFilter, OUTCOME_UNKNOWN } from './queries.ts'

/** Some by their ids, or all that match a filter. `mayArriveTwice`: it is not known whether they were sent. */
export type ChangeRequest = { verb: 'replay' | 'purge' } & (
  | { outboxIds: string[]; mayArriveTwice?: boolean; onStarted?: () => void; filter?: never }
  | { filter: DeadLetterFilter; onStarted?: () => void; outboxIds?: never }
)

export function ChangeDialog({ change, onClose }: { change: ChangeRequest | null; onClose: () => void }) {
  const { t } = useTranslation('deadLetters')
  const sendChange = useChange(BULK_ACTIONS)
  if (!change) return null
  const { verb, filter, outboxIds, onStarted } = change
  const start = async (reason: string) => {
    const body = { kind: `${verb}-dead-letters` as const, reason, filter, outboxIds }
    await sendChange(api.POST(BULK_ACTIONS, { body }), t(`${verb}Started`), async () => onStarted?.())
  }
  return (
    <ConfirmDialog
      opened
      onClose={onClose}
      title={t(`${verb}Title`)}
      verb={t(verb)}
      danger={verb === 'purge'}
      consequence={<Consequence change={change} />}
      askReason
      typeToConfirm={verb === 'purge' ? t('purgeWord') : undefined}
      onConfirm={start}
    />
  )
}

function Consequence({ change }: { change: ChangeRequest }) {
  const { t } = useTranslation('deadLetters')
  if (change.filter) return <Counted verb={change.verb} filter={change.filter} />
  const count = change.outboxIds.length
  if (change.verb === 'purge') return t('purgeChosen', { count })
  return (
    <>
      {t('replayChosen', { count })}
      {change.mayArriveTwice && <TwiceWarning />}
    </>
  )
}

function TwiceWarning() {
  const { t } = useTranslation('deadLetters')
  return (
    <Alert color="yellow" variant="light" mt="xs" py="xs">
      {t('mayArriveTwice')}
    </Alert>
  )
}

function Counted({ verb, filter }: { verb: ChangeRequest['verb']; filter: DeadLetterFilter }) {
  const { t } = useTranslation('deadLetters')
  const errorText = useErrorText()
  const { data, error } = useQuery(countQuery(filter))
  if (error) return errorText(error)
  if (!data) return <Loader size="xs" aria-label={t('counting')} />
  if (verb === 'purge')
    return (
      <>
        <Which filter={filter} />
        <Text size="sm">{t('purgeChosen', { count: data.all })}</Text>
      </>
    )
  return (
    <>
      <Which filter={filter} />
      <Text size="sm">{t('replayChosen', { count: data.replayable })}</Text>
      {data.payloadPurged > 0 && <Text size="sm">{t('leftOut.purged', { count: data.payloadPurged })}</Text>}
      {data.outcomeUnknown > 0 && <Text size="sm">{t('leftOut.unknown', { count: data.outcomeUnknown })}</Text>}
      {filter.code === OUTCOME_UNKNOWN && <TwiceWarning />}
    </>
  )
}

/** Their code and company, as far as they were chosen by them. */
function Which({ filter: { code, company } }: { filter: DeadLetterFilter }) {
  const name = useCompanyName(company)
  if (!code && !name) return null
  return (
    <Text size="sm" fw={600} mb={4}>
      {code && <span className="mono">{code}</span>}
      {code && name && ' · '}
      {name}
    </Text>
  )
}
