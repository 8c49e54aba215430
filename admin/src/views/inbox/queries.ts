import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { api, type Schemas, take } from '../../api/client.ts'

export type ListedMessage = Schemas['CapturedListed']
export type CapturedMessage = Schemas['CapturedMessage']

const PAGE = 50
const REFRESH_MS = 4_000
export const INBOX_KEY = ['inbox']

const page = (search: string | undefined, cursor: string | undefined, signal: AbortSignal) =>
  take(
    api.GET('/admin/inbox', {
      params: { query: { content: 'false', limit: PAGE, ...(search && { search }), ...(cursor && { cursor }) } },
      signal,
    }),
  )

export const messagesQuery = (search: string | undefined) =>
  infiniteQueryOptions({
    queryKey: [...INBOX_KEY, 'list', search],
    queryFn: ({ pageParam, signal }) => page(search, pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: last => last.cursor ?? undefined,
    // New messages are announced, not put under the reader's pointer.
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
  })

/** What is newest now, to say how many have come since. */
export const newestQuery = (search: string | undefined) =>
  queryOptions({
    queryKey: [...INBOX_KEY, 'newest', search],
    queryFn: ({ signal }) => page(search, undefined, signal),
    refetchInterval: REFRESH_MS,
  })

export const messageQuery = (messageId: string) =>
  queryOptions({
    queryKey: [...INBOX_KEY, 'message', messageId],
    queryFn: ({ signal }) => take(api.GET('/admin/inbox/{messageId}', { params: { path: { messageId } }, signal })),
    staleTime: Number.POSITIVE_INFINITY,
  })

export const sourceQuery = (messageId: string) =>
  queryOptions({
    queryKey: [...INBOX_KEY, 'source', messageId],
    queryFn: ({ signal }) =>
      take(
        api.GET('/admin/inbox/{messageId}/source', { params: { path: { messageId } }, parseAs: 'text', signal }),
      ) as Promise<string>,
    staleTime: Number.POSITIVE_INFINITY,
  })

/** The address of a file of the message, for frames and downloads. */
export const fileUrl = (messageId: string, path: string) => `/admin/inbox/${encodeURIComponent(messageId)}/${path}`
