import { Box, Button, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { read } from '../../api/client.ts'
import { useMay } from '../../api/session.ts'
import { useFailureText } from '../../components/error-text.ts'
import { EmptyState } from '../../components/states.tsx'
import { type Column, cursorPages, DataTable, type Selection } from '../../components/table.tsx'
import { BreakableText, IdText, TextLink, TimeText } from '../../components/values.tsx'
import { useFormat } from '../../lib/format.ts'
import type { DeadLetterSearch } from '../../searches.ts'
import type { ChangeRequest } from './ChangeDialog.tsx'
import {
  type DeadLetter,
  type DeadLetterGroup,
  dataText,
  deadLetterFilter,
  groupsQuery,
  REFRESHED_PAGE,
} from './queries.ts'

type TableProps = {
  search: DeadLetterSearch
  show: (search: DeadLetterSearch) => void
  onChange: (change: ChangeRequest) => void
}

/** How many there are of each code and company. */
export function GroupTable({ search, show, onChange }: TableProps) {
  const { t } = useTranslation('deadLetters')
  return (
    <DataTable
      label={t('groups')}
      columns={useGroupColumns(search, onChange)}
      query={useQuery(groupsQuery(search))}
      rowKey={({ code, companyId }) => `${code} ${companyId}`}
      onOpen={group => show(searchOfGroup(group, search))}
      empty={<NoDeadLetters search={search} />}
    />
  )
}

const searchOfGroup = ({ code, companyId }: DeadLetterGroup, { range }: DeadLetterSearch): DeadLetterSearch => ({
  ...(code === null ? { list: true } : { code }),
  company: companyId,
  range,
})

function useGroupColumns(search: DeadLetterSearch, onChange: TableProps['onChange']): Column<DeadLetterGroup>[] {
  const { t } = useTranslation('deadLetters')
  const { number } = useFormat()
  const failureText = useFailureText()
  const mayChange = useMay('support')
  return [
    {
      key: 'code',
      header: t('code'),
      cell: group => (
        <Box miw={{ base: 0, md: '12rem' }}>
          <TextLink to="/dead-letters" search={searchOfGroup(group, search)} size="sm" className="mono">
            {group.code === null ? t('noCode') : <BreakableText text={group.code} />}
          </TextLink>
        </Box>
      ),
    },
    { key: 'company', header: t('company'), name: true, cell: group => group.companyName },
    { key: 'entries', header: t('entries'), align: 'right', cell: group => number(group.entries) },
    {
      key: 'reason',
      header: t('lastReason'),
      wide: true,
      cell: group => (
        <Text size="sm" lineClamp={2} title={group.lastReason}>
          {failureText(group.code, group.lastReason)}
        </Text>
      ),
    },
    { key: 'first', header: t('firstSeen'), cell: group => <TimeText at={group.firstSeen} /> },
    { key: 'last', header: t('lastSeen'), cell: group => <TimeText at={group.lastSeen} /> },
    ...(mayChange
      ? [
          {
            key: 'actions',
            header: t('actions'),
            cell: (group: DeadLetterGroup) => (
              <Button
                size="compact-sm"
                variant="default"
                onClick={() => onChange({ verb: 'replay', filter: deadLetterFilter(searchOfGroup(group, search)) })}
              >
                {t('replay')}
              </Button>
            ),
          },
        ]
      : []),
  ]
}

export function DeadLetterList({ search, show, selection, onChange }: TableProps & { selection: Selection }) {
  const { t } = useTranslation('deadLetters')
  const { open: _, cursors, ...place } = search
  const cursor = cursors?.at(-1)
  const query = useQuery({
    ...read('/admin/dead-letters', { query: { ...deadLetterFilter(search), cursor } }),
    ...REFRESHED_PAGE,
  })
  useDropGone(selection, query.data?.data, JSON.stringify([deadLetterFilter(place), cursor]))
  const mayChange = useMay('support')
  const change = (verb: ChangeRequest['verb']) =>
    onChange({ verb, outboxIds: [...selection.selected], onStarted: selection.clear })
  return (
    <DataTable
      label={t('title')}
      columns={useColumns(search)}
      query={query}
      rowKey={entry => entry.outboxId}
      onOpen={({ outboxId }) => show({ ...search, open: outboxId })}
      empty={<NoDeadLetters search={search} />}
      selection={mayChange ? selection : undefined}
      selectionActions={
        <>
          <Button size="compact-sm" onClick={() => change('replay')}>
            {t('replay')}
          </Button>
          <Button size="compact-sm" variant="default" onClick={() => change('purge')}>
            {t('purge')}
          </Button>
        </>
      }
      pages={{
        ...cursorPages(cursors, query.data?.cursor, next => show({ ...place, cursors: next })),
        summary: <Summary search={search} />,
      }}
    />
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
  const { data } = useQuery(groupsQuery(search))
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

/** There are none, or none that the filters let through. */
function NoDeadLetters({ search: { code, company, range } }: { search: DeadLetterSearch }) {
  const { t } = useTranslation('deadLetters')
  return code || company || range ? (
    <EmptyState title={t('empty.noneMatch')} hint={t('empty.noneMatchHint')} />
  ) : (
    <EmptyState title={t('empty.title')} hint={t('empty.hint')} />
  )
}
