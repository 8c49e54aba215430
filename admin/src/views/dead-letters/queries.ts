import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { read, type Schemas } from '../../api/client.ts'
import { type DeadLetterSearch, sinceOf } from '../../searches.ts'

export type DeadLetter = Schemas['DeadLetter']
export type DeadLetterGroup = Schemas['DeadLetterGroups']['data'][number]
export type DeadLetterFilter = { code?: string; company?: string; since?: string }

/** Whether the provider took it was never learnt: sent again, it may arrive twice. */
export const OUTCOME_UNKNOWN = 'SEND_OUTCOME_UNKNOWN'

export const REFRESHED_PAGE = { placeholderData: keepPreviousData, refetchInterval: 10_000 } as const

export const deadLetterFilter = ({ code, company, range }: DeadLetterSearch): DeadLetterFilter => ({
  code,
  company,
  since: sinceOf(range),
})

/** Also those of other codes, for the filter. */
export function groupsQuery(search: DeadLetterSearch) {
  const { company, since } = deadLetterFilter(search)
  return queryOptions({ ...read('/admin/dead-letters/groups', { query: { company, since } }), ...REFRESHED_PAGE })
}

export const countQuery = (filter: DeadLetterFilter) =>
  queryOptions({ ...read('/admin/dead-letters/count', { query: filter }), staleTime: 0 })

/** Texts of the e-mail, as far as they are still there. */
export const dataText = ({ originalData }: DeadLetter, field: string): string =>
  [originalData[field] ?? []].flat().map(String).join(', ')
