import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { Schemas } from '../../api/client.ts'
import { api, take } from '../../api/client.ts'
import type { AuditSearch } from './routes.ts'

export type AuditEntry = Schemas['AuditEntry']

const PAGE = 50
const DAY_MS = 86_400_000

const FILTERS = ['performedBy', 'action', 'subjectType', 'subjectId', 'company'] as const

export type AuditFilter = { [name in (typeof FILTERS)[number] | 'from' | 'to']?: string }

/** The search parameters as the gateway knows them: whole days in the browser's zone become instants. */
export function filterOf({ from, to, ...search }: AuditSearch): AuditFilter {
  return {
    ...Object.fromEntries(FILTERS.flatMap(name => (search[name] ? [[name, search[name]]] : []))),
    ...(from && { from: startOfDay(from).toISOString() }),
    ...(to && { to: new Date(startOfDay(to).getTime() + DAY_MS).toISOString() }),
  }
}

const startOfDay = (day: string) => new Date(`${day}T00:00:00`)

/** Whether the gateway's own changes are left out. They are many, so they are, unless asked for, also by a name. */
export const peopleOnly = ({ actor, performedBy }: AuditSearch) => actor !== 'any' && !performedBy

const askedFor = (search: AuditSearch) => ({
  ...filterOf(search),
  ...(peopleOnly(search) && { actor: 'people' as const }),
})

export const auditQuery = (search: AuditSearch) => {
  const { olderThan, newerThan } = search
  const query = { ...askedFor(search), ...(olderThan && { olderThan }), ...(newerThan && { newerThan }), limit: PAGE }
  return queryOptions({
    queryKey: ['audit', query],
    queryFn: ({ signal }) => take(api.GET('/admin/audit', { params: { query }, signal })),
    placeholderData: keepPreviousData,
  })
}

export const auditEntryQuery = (id: string) =>
  queryOptions({
    queryKey: ['audit', 'entry', id],
    queryFn: ({ signal }) => take(api.GET('/admin/audit', { params: { query: { id } }, signal })),
  })

export const exportUrl = (search: AuditSearch, format: 'csv' | 'jsonl') =>
  `/admin/audit/export?${new URLSearchParams({ ...askedFor(search), format })}`
