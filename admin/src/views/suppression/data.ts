import { keepPreviousData, type QueryClient, queryOptions } from '@tanstack/react-query'
import { api, type Schemas, take } from '../../api/client.ts'
import { sinceOf } from '../../lib/cursor-pages.ts'
import type { SuppressionSearch } from './routes.ts'

export const REASONS = ['HARD_BOUNCE', 'COMPLAINT', 'MANUAL'] as const
export type Reason = (typeof REASONS)[number]
export const isReason = (value: unknown): value is Reason => REASONS.includes(value as Reason)

export type Entry = Schemas['SuppressionPage']['data'][number]
export type PastEntry = Schemas['EndedSuppressions']['data'][number]
export type History = Schemas['SuppressionHistory']
export type Stats = Schemas['SuppressionStats']

const REFRESH_MS = 15_000

export const statsQuery = queryOptions({
  queryKey: ['suppression', 'stats'],
  queryFn: ({ signal }) => take(api.GET('/admin/suppression/stats', { signal })),
  refetchInterval: REFRESH_MS,
})

export const entriesQuery = (search: SuppressionSearch) => {
  const { reason, company, range, search: text, sort, order, cursors } = search
  const addedAfter = sinceOf(range)
  const cursor = cursors?.at(-1)
  const query = {
    ...(reason && { reason }),
    ...(company && { company }),
    ...(addedAfter && { addedAfter }),
    ...(text && { search: text }),
    ...(sort && { sort }),
    ...(order && { order }),
    ...(cursor && { cursor }),
  }
  return queryOptions({
    queryKey: ['suppression', 'list', query],
    queryFn: ({ signal }) => take(api.GET('/admin/suppression', { params: { query }, signal })),
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  })
}

export const endedQuery = (ending: 'REMOVED' | 'EXPIRED', cursor: string | undefined) =>
  queryOptions({
    queryKey: ['suppression', 'ended', ending, cursor],
    queryFn: ({ signal }) =>
      take(api.GET('/admin/suppression/ended', { params: { query: { ending, ...(cursor && { cursor }) } }, signal })),
    placeholderData: keepPreviousData,
  })

export const historyQuery = (emailHash: string) =>
  queryOptions({
    queryKey: ['suppression', 'history', emailHash],
    queryFn: ({ signal }) =>
      take(api.GET('/admin/suppression/{emailHash}/history', { params: { path: { emailHash } }, signal })),
  })

/** After a change. E-mails say who is suppressed, too: their old answer would be on the screen for a moment after going back. */
export function forgetAnswers(client: QueryClient) {
  for (const name of ['emails', 'email']) client.removeQueries({ queryKey: [name], type: 'inactive' })
  return client.invalidateQueries({ queryKey: ['suppression'] })
}

/** By an address, which goes in the body. */
export const lookUp = (email: string) => take(api.POST('/admin/suppression/look-up', { body: { email } }))

export const addEntry = (body: Schemas['AddSuppressionInput']) => take(api.POST('/admin/suppression', { body }))

export const removeEntry = ({ emailHash, companyId }: Pick<Entry, 'emailHash' | 'companyId'>, justification: string) =>
  take(
    api.DELETE('/admin/suppression/{emailHash}', {
      params: { path: { emailHash }, query: { company: companyId ?? 'global' } },
      body: { justification },
    }),
  )
