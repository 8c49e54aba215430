import { Checkbox, Skeleton } from '@mantine/core'
import { IconArrowDown, IconArrowUp } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import classes from './DataTable.module.css'
import { Pages, type PagesProps } from './Pages.tsx'
import { type Selection, SelectionBar } from './SelectionBar.tsx'
import { useRowKeys } from './use-row-keys.ts'

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
  /** Undefined while loading: a skeleton of the same shape. */
  rows: Row[] | undefined
  rowKey: (row: Row) => string
  /** Click on a row, or Enter. Put a link into the first cell, too. */
  onOpen?: (row: Row) => void
  empty: ReactNode
  selection?: Selection
  /** Buttons of the bar that appears with a selection. */
  selectionActions?: ReactNode
  sort?: { value: Sort; onChange: (sort: Sort) => void }
  pages?: PagesProps
  skeletonRows?: number
}

/** A list: sticky head, cards on phones, j/k/Enter/x on the keyboard, selection, cursor pages. */
export function DataTable<Row>(props: DataTableProps<Row>) {
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
            }) ?? <SkeletonRows count={props.skeletonRows ?? 8} columns={columns.length + (selection ? 1 : 0)} />}
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

function SkeletonRows({ count, columns }: { count: number; columns: number }) {
  const cells = Array.from({ length: columns }, (_, index) => index)
  return Array.from({ length: count }, (_, row) => row).map(row => (
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
const isControl = (target: EventTarget) =>
  target instanceof Element && target.closest('a, button, input, label, [role="button"]') !== null
