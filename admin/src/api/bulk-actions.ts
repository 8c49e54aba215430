import { queryOptions } from '@tanstack/react-query'
import { api, type Schemas, take } from './client.ts'

export type BulkAction = Schemas['BulkAction']
export type BulkKind = BulkAction['kind']
export type NewBulkAction = Schemas['NewBulkActionInput']

const RUNNING_MS = 1_000
const QUIET_MS = 10_000

const isOpen = ({ finishedAt }: BulkAction) => finishedAt === null

/** The newest actions of some kinds. Asked every second while one of them runs, whoever has started it. */
export const bulkActionsQuery = (kinds: BulkKind[]) =>
  queryOptions({
    queryKey: ['bulk-actions'],
    queryFn: ({ signal }) => take(api.GET('/admin/bulk-actions', { params: { query: { limit: 50 } }, signal })),
    select: ({ data }) => data.filter(one => kinds.includes(one.kind)),
    refetchInterval: ({ state }) => (state.data?.data.some(isOpen) ? RUNNING_MS : QUIET_MS),
    staleTime: 0,
  })

export const startBulkAction = (body: NewBulkAction) => take(api.POST('/admin/bulk-actions', { body }))

export const stopBulkAction = (actionId: string) =>
  take(api.POST('/admin/bulk-actions/{actionId}/stop', { params: { path: { actionId } } }))
