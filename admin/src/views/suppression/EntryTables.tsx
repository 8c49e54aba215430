import { Text } from '@mantine/core'
import { IconHandStop, IconMailX, IconMessageReport } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { read, type Schemas } from '../../api/client.ts'
import { useCompanyName } from '../../api/companies.ts'
import { EmptyState } from '../../components/states.tsx'
import { type Column, cursorPages, DataTable } from '../../components/table.tsx'
import { TextLink, TimeText, Tone } from '../../components/values.tsx'
import { type SuppressionReason, type SuppressionSearch, sinceOf } from '../../searches.ts'
import { useAuditWords } from '../audit/words.ts'

type TableProps = { search: SuppressionSearch; show: (search: SuppressionSearch) => void }
type Entry = Schemas['SuppressionPage']['data'][number]
type EndedEntry = Schemas['EndedSuppressions']['data'][number]

export const STATS = '/admin/suppression/stats'
export const REFRESH_MS = 15_000

/** Who is on the list now. */
export function EntryTable({ search, show }: TableProps) {
  const { t } = useTranslation('suppression')
  const { cursors, open: _, show: __, range, ...filters } = search
  const query = useQuery({
    ...read('/admin/suppression', {
      query: { ...filters, addedAfter: sinceOf(range), cursor: cursors?.at(-1) },
    }),
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  })
  const { data: stats } = useQuery(read(STATS))
  const { reason, company, search: digits } = filters
  const isFiltered = Boolean(reason || company || range || digits)
  // A filtered list is not counted: that would read all of it.
  const count = stats && !company && !range && !digits && (reason ? stats.active[reason] : stats.active.total)
  const columns: Column<Entry>[] = [
    ...useColumns<Entry>(search),
    { key: 'addedAt', header: t('added'), sortable: true, cell: ({ addedAt }) => <TimeText at={addedAt} /> },
    {
      key: 'expiresAt',
      header: t('expires'),
      sortable: true,
      cell: ({ expiresAt }) => (expiresAt ? <TimeText at={expiresAt} /> : t('never')),
    },
  ]
  return (
    <DataTable
      label={t('title')}
      columns={columns}
      query={query}
      rowKey={entry => entry.id}
      onOpen={({ emailHash }) => show({ ...search, open: emailHash })}
      empty={
        isFiltered ? (
          <EmptyState title={t('empty.noneMatch')} hint={t('empty.noneMatchHint')} />
        ) : (
          <EmptyState title={t('empty.title')} hint={t('empty.hint')} />
        )
      }
      sort={{
        value: { by: search.sort ?? 'addedAt', order: search.order ?? 'desc' },
        onChange: ({ by, order }) =>
          show({ ...search, open: undefined, cursors: undefined, sort: by as 'addedAt' | 'expiresAt', order }),
      }}
      pages={{
        ...cursorPages(cursors, query.data?.cursor, next => show({ ...search, open: undefined, cursors: next })),
        summary: count !== undefined && count !== false && t('found', { count }),
      }}
    />
  )
}

/** Who was taken off the list, by whom and why; or what has expired. */
export function EndedTable({ ending, search, show }: TableProps & { ending: 'removed' | 'expired' }) {
  const { t } = useTranslation('suppression')
  const words = useAuditWords()
  const { cursors } = search
  const query = useQuery({
    ...read('/admin/suppression/ended', {
      query: { ending: ending === 'removed' ? 'REMOVED' : 'EXPIRED', cursor: cursors?.at(-1) },
    }),
    placeholderData: keepPreviousData,
  })
  const columns: Column<EndedEntry>[] = [
    ...useColumns<EndedEntry>(search),
    { key: 'ended', header: t(`${ending}At`), cell: ({ performedAt }) => <TimeText at={performedAt} /> },
  ]
  if (ending === 'removed')
    columns.push(
      { key: 'by', header: t('by'), cell: ({ performedBy }) => words.who(performedBy) },
      {
        key: 'why',
        header: t('justification'),
        wide: true,
        cell: ({ justification }) => (
          <Text size="sm" lineClamp={2} title={justification}>
            {justification}
          </Text>
        ),
      },
    )
  return (
    <DataTable
      label={t(`shown.${ending}`)}
      columns={columns}
      query={query}
      rowKey={({ emailHash, companyId, performedAt }) => `${emailHash} ${companyId} ${performedAt}`}
      onOpen={({ emailHash }) => show({ ...search, open: emailHash })}
      empty={<EmptyState title={t(`empty.${ending}`)} />}
      pages={cursorPages(cursors, query.data?.cursor, next => show({ ...search, open: undefined, cursors: next }))}
    />
  )
}

/** The address, why, and on which list. */
function useColumns<Row extends { emailHash: string; reason: SuppressionReason; companyId?: string | null }>(
  search: SuppressionSearch,
): Column<Row>[] {
  const { t } = useTranslation('suppression')
  return [
    {
      key: 'hash',
      header: t('hash'),
      cell: ({ emailHash }) => (
        <TextLink
          to="/suppression"
          search={{ ...search, open: emailHash }}
          resetScroll={false}
          size="sm"
          className="mono"
        >
          {emailHash.slice(0, 'sha256:'.length + 10)}…
        </TextLink>
      ),
    },
    { key: 'reason', header: t('reason'), cell: ({ reason }) => <ReasonText reason={reason} /> },
    {
      key: 'list',
      header: t('list'),
      wide: !search.show,
      cell: ({ companyId }) => <ListName companyId={companyId} />,
    },
  ]
}

const REASON_LOOKS = {
  HARD_BOUNCE: ['red', IconMailX],
  COMPLAINT: ['violet', IconMessageReport],
  MANUAL: ['grey', IconHandStop],
} as const

export function ReasonText({ reason }: { reason: SuppressionReason }) {
  const { t } = useTranslation('suppression')
  return <Tone look={REASON_LOOKS[reason]}>{t(`reasons.${reason}`)}</Tone>
}

/** Which list: of all companies, or of one. */
export function ListName({ companyId }: { companyId: string | null | undefined }) {
  const { t } = useTranslation('suppression')
  return useCompanyName(companyId) ?? t('global')
}
