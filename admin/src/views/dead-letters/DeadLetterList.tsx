import { Box, Button, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { useMay } from '../../api/session.ts'
import { BreakableText } from '../../components/BreakableText.tsx'
import { type Column, DataTable } from '../../components/DataTable.tsx'
import { useFailureText } from '../../components/error-text.ts'
import { IdText } from '../../components/IdText.tsx'
import { TextLink } from '../../components/links.tsx'
import { QueryState } from '../../components/QueryState.tsx'
import type { Selection } from '../../components/SelectionBar.tsx'
import { TimeText } from '../../components/TimeText.tsx'
import { cursorPages } from '../../lib/cursor-pages.ts'
import { useFormat } from '../../lib/format.ts'
import type { ChangeRequest } from './ChangeDialog.tsx'
import { type DeadLetter, dataText, filterOf, groupsQuery, listQuery } from './data.ts'
import { NoDeadLetters } from './NoDeadLetters.tsx'
import type { DeadLetterSearch } from './routes.ts'

type DeadLetterListProps = {
  search: DeadLetterSearch
  show: (search: DeadLetterSearch) => void
  selection: Selection
  onChange: (change: ChangeRequest) => void
}

export function DeadLetterList({ search, show, selection, onChange }: DeadLetterListProps) {
  const { t } = useTranslation('deadLetters')
  const { open: _, cursors, ...place } = search
  const query = useQuery(listQuery(filterOf(search), cursors?.at(-1)))
  useDropGone(selection, query.data?.data, `${JSON.stringify(filterOf(place))} ${cursors?.at(-1)}`)
  const mayChange = useMay('support')
  const columns = useColumns(search)
  const change = (verb: ChangeRequest['verb']) =>
    onChange({ verb, outboxIds: [...selection.selected], onStarted: selection.clear })
  const table = (page: { data: DeadLetter[]; cursor: string | null } | undefined) => (
    <DataTable
      label={t('title')}
      columns={columns}
      rows={page?.data}
      rowKey={entry => entry.outboxId}
      onOpen={({ outboxId }) => show({ ...search, open: outboxId })}
      empty={<NoDeadLetters search={search} />}
      {...(mayChange && {
        selection,
        selectionActions: (
          <>
            <Button size="compact-sm" onClick={() => change('replay')}>
              {t('replay')}
            </Button>
            <Button size="compact-sm" variant="default" onClick={() => change('purge')}>
              {t('purge')}
            </Button>
          </>
        ),
      })}
      pages={{
        ...cursorPages(cursors, page?.cursor, next => show({ ...place, ...(next && { cursors: next }) })),
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

/** What is no longer on the same page was replayed or purged, maybe by somebody else: it is not selected any more. */
function useDropGone({ drop }: Selection, rows: DeadLetter[] | undefined, page: string): void {
  const before = useRef<{ page: string; keys: string[] }>({ page, keys: [] })
  const latest = useRef(drop)
  useEffect(() => {
    latest.current = drop
  })
  useEffect(() => {
    if (!rows) return
    const keys = rows.map(({ outboxId }) => outboxId)
    const gone = before.current.page === page ? before.current.keys.filter(key => !keys.includes(key)) : []
    before.current = { page, keys }
    if (gone.length > 0) latest.current(gone)
  }, [rows, page])
}

/** How many there are, from the groups, and since when was searched. */
function Summary({ search }: { search: DeadLetterSearch }) {
  const { t } = useTranslation(['deadLetters', 'common'])
  const { data } = useQuery(groupsQuery(filterOf(search)))
  const groups = data?.data.filter(({ code }) => search.code === undefined || code === search.code) ?? []
  const count = groups.reduce((sum, { entries }) => sum + entries, 0)
  const range = search.range ? t(`common:ranges.${search.range}`) : t('deadLetters:anyTime')
  return t('deadLetters:found', { count, range })
}

function useColumns(search: DeadLetterSearch): Column<DeadLetter>[] {
  const { t } = useTranslation('deadLetters')
  const { number } = useFormat()
  const failureText = useFailureText()
  return [
    {
      key: 'subject',
      header: t('subject'),
      wide: true,
      cell: entry => (
        <>
          <TextLink
            to="/dead-letters"
            search={{ ...search, open: entry.outboxId }}
            resetScroll={false}
            size="sm"
            lineClamp={2}
            title={dataText(entry, 'subject')}
          >
            {dataText(entry, 'subject') || dataText(entry, 'templateType') || t('noPayload')}
          </TextLink>
          <Text size="sm" className="quiet" lineClamp={2} title={dataText(entry, 'to')}>
            {dataText(entry, 'to')}
          </Text>
        </>
      ),
    },
    { key: 'company', header: t('company'), name: true, cell: entry => entry.companyName },
    {
      key: 'why',
      header: t('why'),
      cell: entry => (
        <Box miw={{ base: 0, md: '12rem' }}>
          <span className="mono">
            {entry.lastFailureCode ? <BreakableText text={entry.lastFailureCode} /> : t('noCode')}
          </span>
          <Text size="sm" className="quiet" lineClamp={2} title={entry.lastFailureReason}>
            {failureText(entry.lastFailureCode, entry.lastFailureReason)}
          </Text>
        </Box>
      ),
    },
    { key: 'attempts', header: t('attempts'), align: 'right', cell: entry => number(entry.failedAttempts) },
    { key: 'moved', header: t('moved'), cell: entry => <TimeText at={entry.movedToDLQAt} /> },
    { key: 'id', header: t('id'), cell: entry => <IdText id={entry.outboxId} /> },
  ]
}
