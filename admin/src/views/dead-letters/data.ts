import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { api, type Schemas, take } from '../../api/client.ts'
import { sinceOf } from '../../lib/cursor-pages.ts'
import type { DeadLetterSearch } from './routes.ts'

export type DeadLetter = Schemas['DeadLetter']
export type DeadLetterGroup = Schemas['DeadLetterGroups']['data'][number]
export type DeadLetterFilter = { code?: string; company?: string; since?: string }

/** Whether the provider took it was never learnt: sent again, it may arrive twice. */
export const OUTCOME_UNKNOWN = 'SEND_OUTCOME_UNKNOWN'
const REFRESH_MS = 10_000

export function filterOf({ code, company, range }: DeadLetterSearch): DeadLetterFilter {
  const since = sinceOf(range)
  return { ...(code && { code }), ...(company && { company }), ...(since && { since }) }
}

export const groupsQuery = ({ company, since }: DeadLetterFilter) =>
  queryOptions({
    queryKey: ['dead-letters', 'groups', company, since],
    queryFn: ({ signal }) =>
      take(
        api.GET('/admin/dead-letters/groups', {
          params: { query: { ...(company && { company }), ...(since && { since }) } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  })

export const listQuery = (filter: DeadLetterFilter, cursor: string | undefined) =>
  queryOptions({
    queryKey: ['dead-letters', 'list', filter, cursor],
    queryFn: ({ signal }) =>
      take(api.GET('/admin/dead-letters', { params: { query: { ...filter, ...(cursor && { cursor }) } }, signal })),
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  })

export const countQuery = (filter: DeadLetterFilter) =>
  queryOptions({
    queryKey: ['dead-letters', 'count', filter],
    queryFn: ({ signal }) => take(api.GET('/admin/dead-letters/count', { params: { query: filter }, signal })),
    staleTime: 0,
  })

export const deadLetterQuery = (outboxId: string) =>
  queryOptions({
    queryKey: ['dead-letters', 'one', outboxId],
    queryFn: ({ signal }) =>
      take(api.GET('/admin/dead-letters/{outboxId}', { params: { path: { outboxId } }, signal })),
  })

/** A file that the browser downloads. */
export function exportUrl(filter: DeadLetterFilter, format: 'csv' | 'jsonl'): string {
  return `/admin/dead-letters/export?${new URLSearchParams({ ...filter, format })}`
}

/** Texts of the e-mail, as far as they are still there. */
export const dataText = ({ originalData }: DeadLetter, field: string): string =>
  [originalData[field] ?? []].flat().map(String).join(', ')
