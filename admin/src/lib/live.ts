import { queryOptions, useQuery } from '@tanstack/react-query'
import { api, read, take } from '../api/client.ts'

const POLL_MS = 2_000
/** A gateway that has not answered for so long is not called live. */
const ANSWER_MS = 5_000

const liveQuery = queryOptions({
  ...read('/admin/live'),
  queryFn: ({ signal }) =>
    take(api.GET('/admin/live', { signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]) })),
  staleTime: 0,
})

/** One request every two seconds while the page is visible, also after failures. The frame does it, for every view. */
export const useLivePolling = () => useQuery({ ...liveQuery, refetchInterval: POLL_MS })

/** What the frame's last successful poll answered. */
export const useLive = () => useQuery({ ...liveQuery, enabled: false }).data
