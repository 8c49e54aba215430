import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { type Column, DataTable } from '../../components/DataTable.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { TextLink } from '../../components/links.tsx'
import { QueryState } from '../../components/QueryState.tsx'
import { TimeText } from '../../components/TimeText.tsx'
import { cursorPages } from '../../lib/cursor-pages.ts'
import { useAuditWords } from '../audit/words.ts'
import { endedQuery, type PastEntry } from './data.ts'
import { shortHash } from './EntryTable.tsx'
import { ListName } from './ListName.tsx'
import { ReasonText } from './ReasonText.tsx'
import type { SuppressionSearch } from './routes.ts'

type EndedTableProps = {
  ending: 'REMOVED' | 'EXPIRED'
  search: SuppressionSearch
  show: (search: SuppressionSearch) => void
}

/** Who was taken off the list, by whom and why; or what has expired. */
export function EndedTable({ ending, search, show }: EndedTableProps) {
  const { t } = useTranslation('suppression')
  const { cursors, open: _, ...place } = search
  const query = useQuery(endedQuery(ending, cursors?.at(-1)))
  const columns = useColumns(ending, search)
  const table = (page: { data: PastEntry[]; cursor: string | null } | undefined) => (
    <DataTable
      label={t(ending === 'REMOVED' ? 'shown.removed' : 'shown.expired')}
      columns={columns}
      rows={page?.data}
      rowKey={({ emailHash, companyId, performedAt }) => `${emailHash} ${companyId} ${performedAt}`}
      onOpen={({ emailHash }) => show({ ...search, open: emailHash })}
      empty={<EmptyState title={t(ending === 'REMOVED' ? 'empty.removed' : 'empty.expired')} />}
      pages={cursorPages(cursors, page?.cursor, next => show({ ...place, cursors: next }))}
    />
  )
  return (
    <QueryState query={query} skeleton={table(undefined)}>
      {table}
    </QueryState>
  )
}

function useColumns(ending: EndedTableProps['ending'], search: SuppressionSearch): Column<PastEntry>[] {
  const { t } = useTranslation('suppression')
  const words = useAuditWords()
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
    { key: 'list', header: t('list'), cell: ({ companyId }) => <ListName companyId={companyId} /> },
    {
      key: 'ended',
      header: t(ending === 'REMOVED' ? 'removedAt' : 'expiredAt'),
      cell: ({ performedAt }) => <TimeText at={performedAt} />,
    },
    ...(ending === 'REMOVED'
      ? [
          { key: 'by', header: t('by'), cell: ({ performedBy }: PastEntry) => words.who(performedBy) },
          {
            key: 'why',
            header: t('justification'),
            wide: true,
            cell: ({ justification }: PastEntry) => (
              <Text size="sm" lineClamp={2} title={justification}>
                {justification}
              </Text>
            ),
          },
        ]
      : []),
  ]
}
