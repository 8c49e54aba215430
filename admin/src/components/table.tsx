import { Button, Checkbox, Group, Skeleton, Text } from '@mantine/core'
import { IconArrowDown, IconArrowUp, IconChevronLeft, IconChevronRight } from '@tabler/icons-react'
import type { UseQueryResult } from '@tanstack/react-query'
import { type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { ErrorState, StaleBar } from './states.tsx'
import classes from './table.module.css'

export type Column<Row> = {
  key: string
  header: string
  cell: (row: Row) => ReactNode
  align?: 'right'
  /** Grows and may wrap; others are as wide as their content. */
  wide?: boolean
  /** A name: does not wrap as long as it is short. */
  name?: boolean
  /** Offered for sorting, where an index allows it. */
  sortable?: boolean
}

type Sort = { by: string; order: 'asc' | 'desc' }

type DataTableProps<Row> = {
  /** What the rows are, for screen readers. */
  label: string
  columns: Column<Row>[]
  /** What the rows were asked for with: while there are none, a skeleton of the same shape or the error is shown. */
  query?: UseQueryResult<{ data: Row[] }>
  /** Where they are not the data of the query. */
  rows?: Row[]
  rowKey: (row: Row) => string
  /** Click on a row, or Enter. Put a link into the first cell, too. */
  onOpen?: (row: Row) => void
  empty: ReactNode
  selection?: Selection
  /** Buttons of the bar that appears with a selection. */
  selectionActions?: ReactNode
  sort?: { value: Sort; onChange: (sort: Sort) => void }
  pages?: PagesProps
}

/** A list: sticky head, cards on phones, j/k/Enter/x on the keyboard, selection, cursor pages. */
export function DataTable<Row>({ query, ...props }: DataTableProps<Row>) {
  if (query?.error && !query.data) return <ErrorState error={query.error} reset={() => void query.refetch()} />
  return (
    <>
      {query && <StaleBar query={query} />}
      <Rows {...props} rows={props.rows ?? query?.data?.data} />
    </>
  )
}

function Rows<Row>(props: Omit<DataTableProps<Row>, 'query'>) {
  const { label, columns, rows, rowKey, onOpen, empty, selection, sort, pages } = props
  const { t } = useTranslation()
  const keys = rows?.map(rowKey) ?? []
  const { active, bodyRef } = useRowKeys(keys, {
    open: key => onOpen?.(rows!.find(row => rowKey(row) === key)!),
    select: key => selection?.toggle([key]),
  })
  if (rows?.length === 0) return <>{empty}</>
  const all = keys.length > 0 && keys.every(key => selection?.selected.has(key))
  return (
    <div>
      {selection && <SelectionBar selection={selection}>{props.selectionActions}</SelectionBar>}
      <div className={classes.frame}>
        <table className={classes.table} aria-label={label} aria-busy={!rows}>
          <thead>
            <tr>
              {selection && (
                <th className={classes.check}>
                  <Checkbox
                    size="xs"
                    aria-label={t('table.selectAll')}
                    checked={all}
                    indeterminate={!all && keys.some(key => selection.selected.has(key))}
                    onChange={() => selection.toggle(all ? keys : keys.filter(key => !selection.selected.has(key)))}
                  />
                </th>
              )}
              {columns.map(column => (
                <HeaderCell key={column.key} column={column} sort={sort} />
              ))}
            </tr>
          </thead>
          <tbody ref={bodyRef}>
            {rows?.map(row => {
              const key = rowKey(row)
              return (
                <tr
                  key={key}
                  data-key={key}
                  tabIndex={-1}
                  data-active={key === active || undefined}
                  data-selected={selection?.selected.has(key) || undefined}
                  data-opens={onOpen ? true : undefined}
                  onClick={event => onOpen && !isControl(event.target) && onOpen(row)}
                >
                  {selection && (
                    <td className={classes.check}>
                      <Checkbox
                        size="xs"
                        aria-label={t('table.select')}
                        checked={selection.selected.has(key)}
                        onChange={() => selection.toggle([key])}
                      />
                    </td>
                  )}
                  {columns.map(column => (
                    <td
                      key={column.key}
                      data-label={column.header}
                      data-align={column.align}
                      data-wide={column.wide}
                      data-name={column.name}
                    >
                      <div>{column.cell(row)}</div>
                    </td>
                  ))}
                </tr>
              )
            }) ?? <SkeletonRows columns={columns.length + (selection ? 1 : 0)} />}
          </tbody>
        </table>
      </div>
      {pages && <Pages {...pages} />}
    </div>
  )
}

function HeaderCell<Row>({ column, sort }: { column: Column<Row>; sort: DataTableProps<Row>['sort'] }) {
  const { t } = useTranslation()
  const { key, header, align, wide } = column
  if (!column.sortable || !sort)
    return (
      <th data-align={align} data-wide={wide}>
        {header}
      </th>
    )
  const order = sort.value.by === key ? sort.value.order : undefined
  return (
    <th data-align={align} aria-sort={order ? (order === 'asc' ? 'ascending' : 'descending') : 'none'}>
      <button
        type="button"
        className={classes.sort}
        title={t('table.sortBy', { column: header })}
        onClick={() => sort.onChange({ by: key, order: order === 'desc' ? 'asc' : 'desc' })}
      >
        {header}
        {order === 'asc' && <IconArrowUp size={14} aria-hidden />}
        {order === 'desc' && <IconArrowDown size={14} aria-hidden />}
      </button>
    </th>
  )
}

const SKELETON_ROWS = [0, 1, 2, 3, 4, 5, 6, 7]

function SkeletonRows({ columns }: { columns: number }) {
  const cells = Array.from({ length: columns }, (_, index) => index)
  return SKELETON_ROWS.map(row => (
    <tr key={row}>
      {cells.map(cell => (
        <td key={cell}>
          <Skeleton height={14} my={4} width={`${50 + ((row * 7 + cell * 13) % 40)}%`} />
        </td>
      ))}
    </tr>
  ))
}

/** A click on a link, a button or a box inside of a row is meant for it. */
const isControl = (target: EventTarget | null) =>
  target instanceof Element && target.closest('a, button, input, label, [role="button"]') !== null

export type Selection = {
  selected: ReadonlySet<string>
  toggle: (keys: string[]) => void
  drop: (keys: string[]) => void
  clear: () => void
}

/** The rows that are selected, for `DataTable`. Another `list` begins with none. */
export function useSelection(list = ''): Selection {
  const [state, setState] = useState<{ list: string; selected: ReadonlySet<string> }>({ list, selected: new Set() })
  if (state.list !== list) setState({ list, selected: new Set() })
  const { selected } = state
  const change = useCallback(
    (alter: (after: Set<string>) => void) =>
      setState(before => {
        const after = new Set(before.selected)
        alter(after)
        return { list: before.list, selected: after }
      }),
    [],
  )
  return useMemo(
    () => ({
      selected,
      toggle: keys =>
        change(after => {
          for (const key of keys) if (!after.delete(key)) after.add(key)
        }),
      drop: keys =>
        change(after => {
          for (const key of keys) after.delete(key)
        }),
      clear: () => change(after => after.clear()),
    }),
    [selected, change],
  )
}

function SelectionBar({ selection, children }: { selection: Selection; children: ReactNode }) {
  const { t } = useTranslation()
  const count = selection.selected.size
  if (count === 0) return null
  return (
    <Group className={classes.bar} gap="sm" role="region" aria-label={t('table.selected', { count })}>
      <Text size="sm" fw={600}>
        {t('table.selected', { count })}
      </Text>
      {children}
      <Button size="compact-sm" variant="subtle" onClick={selection.clear}>
        {t('table.clear')}
      </Button>
    </Group>
  )
}

export type PagesProps = {
  /** Undefined: there is no such page. */
  onPrevious: (() => void) | undefined
  onNext: (() => void) | undefined
  /** What was searched: "1,240 in the last 24 h". */
  summary?: ReactNode
}

/** Cursor pages: there is no page number, because rows come and go meanwhile. */
function Pages({ onPrevious, onNext, summary }: PagesProps) {
  const { t } = useTranslation()
  return (
    <Group justify="space-between" mt="xs" gap="xs">
      <Text size="sm" className="quiet" component="div">
        {summary}
      </Text>
      {(onPrevious || onNext) && (
        <Group gap="xs">
          <Button
            size="compact-md"
            variant="default"
            disabled={!onPrevious}
            onClick={onPrevious}
            leftSection={<IconChevronLeft size={16} />}
          >
            {t('table.previous')}
          </Button>
          <Button
            size="compact-md"
            variant="default"
            disabled={!onNext}
            onClick={onNext}
            rightSection={<IconChevronRight size={16} />}
          >
            {t('table.next')}
          </Button>
        </Group>
      )}
    </Group>
  )
}

type Actions = { open: (key: string) => void; select: (key: string) => void }

/** j and k (or the arrows in a list that has the focus) move a mark, Enter opens, x selects. Not while something is typed or a dialog is open. */
export function useRowKeys(keys: string[], actions: Actions) {
  const [active, setActive] = useState<string | null>(null)
  const bodyRef = useRef<HTMLTableSectionElement>(null)
  const latest = useRef({ keys, actions, active })
  useEffect(() => {
    latest.current = { keys, actions, active }
  })
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isBusy(event.target)) return
      const { keys, actions, active } = latest.current
      const index = active === null ? -1 : keys.indexOf(active)
      const moveTo = (next: number) => {
        const key = keys[Math.max(0, Math.min(keys.length - 1, next))]
        if (key === undefined) return
        setActive(key)
        const row = bodyRef.current?.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`)
        // Tab goes on from the row, and a screen reader says it.
        row?.focus({ preventScroll: true })
        row?.scrollIntoView({ block: 'nearest' })
      }
      if (event.key === 'j') moveTo(index + 1)
      else if (event.key === 'k') moveTo(index - 1)
      else if (index < 0) return
      else if (event.key === 'x') actions.select(active!)
      else if (event.key === 'Enter' && !isControl(event.target)) actions.open(active!)
      else return
      event.preventDefault()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
  return { active, bodyRef }
}

const isBusy = (target: EventTarget | null) =>
  (target instanceof Element && target.closest('input, textarea, select, [contenteditable]') !== null) ||
  document.querySelector('[role="dialog"]') !== null

/**
 * Previous and Next for a list with forward cursors. The cursors of the pages before are kept in the URL, so that a reload and a sent
 * link know the way back.
 */
export function cursorPages(
  cursors: string[] | undefined,
  next: string | null | undefined,
  go: (cursors: string[] | undefined) => void,
): PagesProps {
  const before = cursors ?? []
  return {
    onPrevious: before.length > 0 ? () => go(before.length > 1 ? before.slice(0, -1) : undefined) : undefined,
    onNext: next ? () => go([...before, next]) : undefined,
  }
}
