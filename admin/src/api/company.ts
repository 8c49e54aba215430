import { queryOptions } from '@tanstack/react-query'
import { api, type Schemas, take } from './client.ts'

export type Company = Schemas['Company']
export type ApiKey = Schemas['ApiKey']

/** Everything of one company is under this key, so that one call refreshes it. */
export const companyKey = (companyId: string) => ['company', companyId] as const

export const companyQuery = (companyId: string) =>
  queryOptions({
    queryKey: [...companyKey(companyId), 'settings'],
    queryFn: ({ signal }) => take(api.GET('/admin/companies/{companyId}', { params: { path: { companyId } }, signal })),
  })

export const ACTIVITY_RANGES = ['24h', '7d', '30d'] as const
export type ActivityRange = (typeof ACTIVITY_RANGES)[number]

export const activityQuery = (companyId: string, range: ActivityRange) =>
  queryOptions({
    queryKey: [...companyKey(companyId), 'activity', range],
    queryFn: ({ signal }) =>
      take(
        api.GET('/admin/companies/{companyId}/activity', {
          params: { path: { companyId }, query: { range } },
          signal,
        }),
      ),
    refetchInterval: 60_000,
  })

export const fairnessQuery = (companyId: string) =>
  queryOptions({
    queryKey: ['fairness', companyId],
    queryFn: ({ signal }) =>
      take(api.GET('/admin/fairness', { params: { query: { company: companyId, limit: 15 } }, signal })),
    refetchInterval: 5_000,
  })

export const keysQuery = (companyId: string) =>
  queryOptions({
    queryKey: [...companyKey(companyId), 'keys'],
    queryFn: ({ signal }) =>
      take(api.GET('/admin/companies/{companyId}/keys', { params: { path: { companyId } }, signal })),
  })

export const sqlAccessQuery = (companyId: string) =>
  queryOptions({
    queryKey: [...companyKey(companyId), 'sql-access'],
    queryFn: ({ signal }) =>
      take(api.GET('/admin/companies/{companyId}/sql-access', { params: { path: { companyId } }, signal })),
  })

export const companyAuditQuery = (companyId: string, cursor: number | undefined) =>
  queryOptions({
    queryKey: [...companyKey(companyId), 'audit', cursor],
    queryFn: ({ signal }) =>
      take(
        api.GET('/admin/companies/{companyId}/audit', {
          params: { path: { companyId }, query: { limit: 50, ...(cursor !== undefined && { cursor }) } },
          signal,
        }),
      ),
  })
