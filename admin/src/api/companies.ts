import { queryOptions } from '@tanstack/react-query'
import { api, take } from './client.ts'

/** Every company with its standing; filters and the search use it for names. */
export const companiesQuery = queryOptions({
  queryKey: ['companies'],
  queryFn: ({ signal }) => take(api.GET('/admin/companies', { signal })),
})

export type CompanyStanding = Awaited<ReturnType<NonNullable<typeof companiesQuery.queryFn>>>['data'][number]
