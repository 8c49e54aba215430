import { Button, Group, Paper, Skeleton, Stack, Text, Title, Tooltip } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api, read, type Schemas } from '../../api/client.ts'
import { useMay } from '../../api/session.ts'
import { ConfirmDialog, DetailsDrawer } from '../../components/dialogs.tsx'
import { useEventWords } from '../../components/event-words.ts'
import { FactTable } from '../../components/facts.tsx'
import { QueryState } from '../../components/states.tsx'
import { forget, useChange } from '../../components/use-change.ts'
import { CopyButton, TextLink, TimeText } from '../../components/values.tsx'
import type { SuppressionSearch } from '../../searches.ts'
import { ListName, ReasonText } from './EntryTables.tsx'

type EntryDrawerProps = { search: SuppressionSearch; show: (search: SuppressionSearch) => void }
type History = Schemas['SuppressionHistory']
type ListedEntry = History['entries'][number]

export const historyQuery = (emailHash: string) =>
  read('/admin/suppression/{emailHash}/history', { path: { emailHash } })

/** E-mails say who is suppressed, too: their old answers are gone before the change is told. */
export function useSuppressionChange(): ReturnType<typeof useChange> {
  const client = useQueryClient()
  const change = useChange('/admin/suppression')
  return (request, done) =>
    change(request, answer => {
      forget(client, '/admin/emails')
      return typeof done === 'function' ? done(answer) : done
    })
}

/** One address: on which lists it is, why, and everything that happened to it, also when it is on none any more. */
export function EntryDrawer({ search, show }: EntryDrawerProps) {
  const { t } = useTranslation('suppression')
  const { open, ...place } = search
  return (
    <DetailsDrawer opened={open !== undefined} onClose={() => show(place)} title={t('details')}>
      {open !== undefined && <Details emailHash={open} />}
    </DetailsDrawer>
  )
}

function Details({ emailHash }: { emailHash: string }) {
  const { t } = useTranslation('suppression')
  const query = useQuery(historyQuery(emailHash))
  const [removing, setRemoving] = useState<ListedEntry | null>(null)
  return (
    <QueryState query={query} skeleton={<Skeleton height={320} />}>
      {({ entries, auditLog }) => (
        <Stack gap="md">
          <Text size="sm" className="mono" component="div">
            {emailHash} <CopyButton value={emailHash} label={emailHash} />
          </Text>
          <TextLink size="sm" to="/emails" search={{ recipient: emailHash }}>
            {t('emailsTo')}
          </TextLink>
          {entries.length === 0 && <Text>{t(auditLog.length === 0 ? 'neverListed' : 'notListed')}</Text>}
          {entries.map(entry => (
            <ListedEntryBox key={entry.id} entry={entry} onRemove={() => setRemoving(entry)} />
          ))}
          <Changes auditLog={auditLog} />
          {removing && <RemoveDialog entry={removing} onClose={() => setRemoving(null)} />}
        </Stack>
      )}
    </QueryState>
  )
}

function ListedEntryBox({ entry, onRemove }: { entry: ListedEntry; onRemove: () => void }) {
  const { t } = useTranslation('suppression')
  const mayChange = useMay('support')
  const words = useEventWords()
  const factNames = t('facts', { returnObjects: true }) as Record<string, string>
  const facts: [string, ReactNode][] = [
    [t('list'), <ListName key="list" companyId={entry.companyId} />],
    [t('added'), <TimeText key="added" at={entry.addedAt} exact />],
    [t('expires'), entry.expiresAt ? <TimeText key="expires" at={entry.expiresAt} exact /> : t('never')],
    ...Object.entries(entry.metadata).map(([name, value]): [string, ReactNode] => [
      factNames[name] ?? name,
      name === 'bounceType' || name === 'bounceSubType' ? words[name](metadataText(value)) : metadataText(value),
    ]),
  ]
  return (
    <Paper withBorder p="md">
      <Group justify="space-between" mb="sm">
        <ReasonText reason={entry.reason} />
        {mayChange && <RemoveButton entry={entry} onRemove={onRemove} />}
      </Group>
      <FactTable facts={facts} />
    </Paper>
  )
}

/** A complaint is the recipient's own refusal: the button says why it cannot be used, on hover and on focus. */
function RemoveButton({ entry, onRemove }: { entry: ListedEntry; onRemove: () => void }) {
  const { t } = useTranslation('suppression')
  if (entry.reason !== 'COMPLAINT')
    return (
      <Button size="compact-md" variant="default" onClick={onRemove}>
        {t('remove.button')}
      </Button>
    )
  return (
    <Stack gap={2} align="flex-end" ml="auto">
      <Tooltip label={t('remove.complaint')} events={{ hover: true, focus: true, touch: true }}>
        <Button
          size="compact-md"
          variant="default"
          data-disabled
          aria-disabled
          onClick={event => event.preventDefault()}
        >
          {t('remove.button')}
        </Button>
      </Tooltip>
      <Text size="xs" className="quiet" ta="right" maw={280}>
        {t('remove.complaint')}
      </Text>
    </Stack>
  )
}

const metadataText = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))

function Changes({ auditLog }: { auditLog: History['auditLog'] }) {
  const { t } = useTranslation('suppression')
  const words = useEventWords()
  if (auditLog.length === 0) return null
  return (
    <section>
      <Title order={3} size="h5" mb="xs">
        {t('history')}
      </Title>
      <Stack gap="sm" component="ol" m={0} pl="lg">
        {auditLog.map((change, index) => (
          // Changes are never altered, and new ones come with another answer.
          // biome-ignore lint/suspicious/noArrayIndexKey: several changes may have the same time
          <li key={index}>
            <Text size="sm" component="div">
              <strong>{t(`actions.${change.action}`)}</strong> · {t(`reasons.${change.reason}`)} ·{' '}
              <ListName companyId={change.companyId} />
            </Text>
            <Text size="sm" className="quiet" component="div">
              {words.by(change.performedBy)} · <TimeText at={change.performedAt} exact />
            </Text>
            {change.justification && <Text size="sm">“{change.justification}”</Text>}
          </li>
        ))}
      </Stack>
    </section>
  )
}

function RemoveDialog({ entry, onClose }: { entry: ListedEntry; onClose: () => void }) {
  const { t } = useTranslation('suppression')
  const change = useSuppressionChange()
  const params = { path: { emailHash: entry.emailHash }, query: { company: entry.companyId ?? 'global' } }
  return (
    <ConfirmDialog
      opened
      onClose={onClose}
      title={t('remove.title')}
      verb={t('remove.button')}
      danger
      consequence={t(entry.companyId ? 'remove.consequenceCompany' : 'remove.consequence')}
      askReason
      onConfirm={justification =>
        change(api.DELETE('/admin/suppression/{emailHash}', { params, body: { justification } }), t('remove.done'))
      }
    />
  )
}
