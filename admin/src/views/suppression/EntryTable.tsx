import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { type Column, DataTable } from '../../components/DataTable.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { TextLink } from '../../components/links.tsx'
import { QueryState } from '../../components/QueryState.tsx'
import { TimeText } from '../../components/TimeText.tsx'
import { cursorPages } from '../../lib/cursor-pages.ts'
import { type Entry, entriesQuery, statsQuery } from './data.ts'
import { ListName } from './ListName.tsx'
import { ReasonText } from './ReasonText.tsx'
import type { SuppressionSearch } from './routes.ts'

type EntryTableProps = { search: SuppressionSearch; show: (search: SuppressionSearch) => void }

export const shortHash = (emailHash: string) => `${emailHash.slice(0, 'sha256:'.length + 10)}…`

export function EntryTable({ search, show }: EntryTableProps) {
  const { t } = useTranslation('suppression')
  const { cursors, open: _, ...place } = search
  const query = useQuery(entriesQuery(search))
  const columns = useColumns(search)
  const table = (page: { data: Entry[]; cursor: string | null } | undefined) => (
    <DataTable
      label={t('title')}
      columns={columns}
      rows={page?.data}
      rowKey={entry => entry.id}
      onOpen={({ emailHash }) => show({ ...search, open: emailHash })}
      empty={<NoEntries search={search} />}
      sort={{
        value: { by: search.sort ?? 'addedAt', order: search.order ?? 'desc' },
        onChange: ({ by, order }) => show({ ...place, sort: by as 'addedAt' | 'expiresAt', order }),
      }}
      pages={{
        ...cursorPages(cursors, page?.cursor, next => show({ ...place, cursors: next })),
        summary: <Summary search={search} />,
      }}
    />
  )
  return (
    <QueryState query={query} skeleton={table(undefined)}>
      {table}
    </QueryState>
  )
}

function NoEntries({ search: { reason, company, range, search } }: { search: SuppressionSearch }) {
  const { t } = useTranslation('suppression')
  const isFiltered = Boolean(reason || company || range || search)
  return isFiltered ? (
    <EmptyState title={t('empty.noneMatch')} hint={t('empty.noneMatchHint')} />
  ) : (
    <EmptyState title={t('empty.title')} hint={t('empty.hint')} />
  )
}

/** A filtered list is not counted: that would read all of it. */
function Summary({ search: { reason, company, range, search } }: { search: SuppressionSearch }) {
  const { t } = useTranslation('suppression')
  const { data } = useQuery(statsQuery)
  if (!data || company || range || search) return null
  return t('found', { count: reason ? data.active[reason] : data.active.total })
}

function useColumns(search: SuppressionSearch): Column<Entry>[] {
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
          {shortHash(emailHash)}
        </TextLink>
      ),
    },
    { key: 'reason', header: t('reason'), cell: ({ reason }) => <ReasonText reason={reason} /> },
    { key: 'list', header: t('list'), wide: true, cell: ({ companyId }) => <ListName companyId={companyId} /> },
    { key: 'addedAt', header: t('added'), sortable: true, cell: ({ addedAt }) => <TimeText at={addedAt} /> },
    {
      key: 'expiresAt',
      header: t('expires'),
      sortable: true,
      cell: ({ expiresAt }) => (expiresAt ? <TimeText at={expiresAt} /> : t('never')),
    },
  ]
}
