import { Skeleton, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { DetailsDrawer } from '../../components/DetailsDrawer.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { TextLink } from '../../components/links.tsx'
import { QueryState } from '../../components/QueryState.tsx'
import { useReasonText } from '../../components/reason-text.ts'
import { TimeText } from '../../components/TimeText.tsx'
import classes from './AuditLog.module.css'
import { type AuditEntry, auditEntryQuery } from './data.ts'
import { differenceOf, type FieldDifference } from './difference.ts'
import { Subject } from './Subject.tsx'
import { useAuditWords } from './words.ts'

type AuditDetailsProps = {
  /** Undefined: nothing is open. */
  id: string | undefined
  /** The entries of the page; undefined while they are loading. */
  listed: AuditEntry[] | undefined
  onClose: () => void
}

/** One entry: who, when, why, and what it was before and after. One that is not on the page is read by its id. */
export function AuditDetails({ id, listed, onClose }: AuditDetailsProps) {
  const { t } = useTranslation('audit')
  const words = useAuditWords()
  const onPage = listed?.find(entry => entry.id === id)
  const query = useQuery({ ...auditEntryQuery(id ?? ''), enabled: id !== undefined && listed !== undefined && !onPage })
  const entry = onPage ?? (id === undefined ? undefined : query.data?.data[0])
  const title = entry ? `${words.action(entry.action)} · ${words.subject(entry.subjectType)}` : t('entry')
  return (
    <DetailsDrawer opened={id !== undefined} onClose={onClose} title={title}>
      {entry && <Facts entry={entry} />}
      {id !== undefined && !entry && (
        <QueryState query={query} skeleton={<Skeleton height={240} />}>
          {() => <EmptyState title={t('entryNone')} hint={t('entryNoneHint')} />}
        </QueryState>
      )}
    </DetailsDrawer>
  )
}

function Facts({ entry }: { entry: AuditEntry }) {
  const { t } = useTranslation('audit')
  const words = useAuditWords()
  const reasonText = useReasonText()
  const lines = differenceOf(entry.before, entry.after, words.value)
  return (
    <Stack gap="md">
      <dl className={classes.facts}>
        <dt className="quiet">{t('when')}</dt>
        <dd>
          <TimeText at={entry.performedAt} exact />
        </dd>
        <dt className="quiet">{t('who')}</dt>
        <dd title={entry.performedBy}>{words.who(entry.performedBy)}</dd>
        <dt className="quiet">{t('action')}</dt>
        <dd title={entry.action}>{words.action(entry.action)}</dd>
        <dt className="quiet">{t('subject')}</dt>
        <dd>
          <Subject entry={entry} whole />
        </dd>
        <dt className="quiet">{t('company')}</dt>
        <dd>{entry.companyName ?? entry.companyId ?? '–'}</dd>
        <dt className="quiet">{t('reason')}</dt>
        <dd>{entry.reason ? reasonText(entry.reason) : '–'}</dd>
      </dl>
      {lines.length > 0 ? <Difference entry={entry} lines={lines} /> : <Text size="sm">{t('nothingMore')}</Text>}
    </Stack>
  )
}

/** Without a side before, the other one is no change but what the entry says. */
function Difference({ entry, lines }: { entry: AuditEntry; lines: FieldDifference[] }) {
  const { t } = useTranslation('audit')
  const words = useAuditWords()
  const both = entry.before !== null && entry.after !== null
  return (
    <table className={classes.difference}>
      <thead>
        <tr>
          <th scope="col">{t('field')}</th>
          {entry.before && <th scope="col">{t('before')}</th>}
          {entry.after && <th scope="col">{both ? t('after') : t('value')}</th>}
        </tr>
      </thead>
      <tbody>
        {lines.map(line => (
          <tr key={line.field}>
            <th scope="row" title={line.field}>
              {words.field(line.field, entry.subjectType)}
            </th>
            {entry.before && (
              <td className={both && line.changed ? classes.before : undefined}>
                {both && line.changed ? <del>{line.before}</del> : line.before}
              </td>
            )}
            {entry.after && (
              <td className={both && line.changed ? classes.after : undefined}>
                {both && line.changed ? <ins>{line.after}</ins> : <Value field={line.field} text={line.after} />}
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The e-mail that another one was sent again as is one click away. */
function Value({ field, text }: { field: string; text: string | null }) {
  if (text === null || field !== 'resentAs' || !UUID.test(text)) return text
  return (
    <TextLink to="/emails/$outboxId" params={{ outboxId: text }} size="sm">
      {text}
    </TextLink>
  )
}
