import { keepPreviousData } from '@tanstack/react-query'
import { read, type Schemas } from '../../api/client.ts'
import type { AuditSearch } from '../../searches.ts'

export type AuditEntry = Schemas['AuditEntry']

const DAY_MS = 86_400_000
const startOfDay = (day: string) => new Date(`${day}T00:00:00`)

/** Whether the gateway's own changes are left out. They are many, so they are, unless asked for, also by a name. */
export const isPeopleOnly = ({ actor, performedBy }: AuditSearch) => actor !== 'any' && !performedBy

/** The filters as the gateway knows them: whole days in the browser's zone become instants. */
export const auditFilter = ({ from, to, open: _, olderThan: _o, newerThan: _n, ...search }: AuditSearch) => ({
  ...search,
  actor: isPeopleOnly(search) ? ('people' as const) : undefined,
  from: from && startOfDay(from).toISOString(),
  to: to && new Date(startOfDay(to).getTime() + DAY_MS).toISOString(),
})

export const auditQuery = (search: AuditSearch) => {
  const { olderThan, newerThan } = search
  return {
    ...read('/admin/audit', { query: { ...auditFilter(search), olderThan, newerThan, limit: 50 } }),
    placeholderData: keepPreviousData,
  }
}
