import { queryOptions } from '@tanstack/react-query'
import { api, read, type Schemas, take } from '../../api/client.ts'
import { type EmailSearch, LOOKUPS, type LongRange } from '../../searches.ts'

export type Email = Schemas['AdminEmail']
export type EmailRow = Schemas['AdminEmailSummary']
export type EmailPage = Schemas['AdminEmailList']
export type Suppression = NonNullable<EmailPage['suppression']>[number]

const RANGE_MS: Record<LongRange, number> = { '24h': 86_400_000, '7d': 7 * 86_400_000, '30d': 30 * 86_400_000 }
export const DEFAULT_RANGE = '7d'
const PAGE_SIZE = 50
/** One answer looks at 5 000 e-mails at most: so many answers are asked for before the reader is. */
const MAX_ANSWERS = 20

export const lookupOf = (search: EmailSearch) => LOOKUPS.find(name => search[name] !== undefined)

export const emailsQuery = (search: EmailSearch) =>
  queryOptions({
    queryKey: ['/admin/emails', search],
    queryFn: ({ signal }) => readPage(search, signal),
  })

/** A page; where filters match rarely, the answers of several requests. */
async function readPage(search: EmailSearch, signal: AbortSignal): Promise<EmailPage> {
  const page = await readAnswer(search, signal)
  for (let answers = 1; answers < MAX_ANSWERS && goesOn(page) && !search.newerThan; answers++) {
    const more = await readAnswer({ ...search, olderThan: page.older! }, signal)
    page.data.push(...more.data.slice(0, PAGE_SIZE - page.data.length))
    page.searchedTo = more.searchedTo
    page.older = page.data.length < PAGE_SIZE ? more.older : page.data.at(-1)!.outboxId
  }
  return page
}

const goesOn = ({ searchedTo, older, data }: EmailPage) =>
  searchedTo !== null && older !== null && data.length < PAGE_SIZE

function readAnswer({ range, ...query }: EmailSearch, signal: AbortSignal): Promise<EmailPage> {
  const from = new Date(Date.now() - RANGE_MS[range ?? DEFAULT_RANGE]).toISOString()
  const ranged = lookupOf(query) === undefined ? { from } : {}
  return take(api.GET('/admin/emails', { params: { query: { ...query, ...ranged, limit: PAGE_SIZE } }, signal }))
}

export const searchEmails = (search: string) =>
  take(api.POST('/admin/emails/search', { body: { search, limit: PAGE_SIZE } }))

export const emailQuery = (outboxId: string) => read('/admin/emails/{outboxId}', { path: { outboxId } })

export const contentQuery = (outboxId: string) => ({
  ...read('/admin/emails/{outboxId}/content', { path: { outboxId } }),
  staleTime: Number.POSITIVE_INFINITY,
})
