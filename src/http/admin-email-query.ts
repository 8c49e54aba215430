import { z } from 'zod'
import { type EmailLookup, recogniseSearch } from '../contracts/admin/email-search.ts'
import { rangeEndSchema } from '../contracts/instant.ts'
import { templateTypeSchema } from '../contracts/send-body.ts'
import { EMAIL_STATUSES } from '../contracts/states.ts'
import { readEmailHash } from '../contracts/suppression/view.ts'
import type { AdminEmailFilter } from '../db/admin/emails.ts'
import { invalidField } from './problem.ts'

const RANGE_DAYS = 7
const DAY_MS = 86_400_000

const plain = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .refine(text => !text.includes('\0'), 'must not contain NUL')

const filters = {
  status: z.enum(EMAIL_STATUSES).optional(),
  company: z.uuid().optional().describe('Its id'),
  tag: plain(64).optional(),
  template: templateTypeSchema.optional().describe('The type of a template'),
  mode: z.enum(['live', 'test']).optional().describe('Both when absent'),
  from: rangeEndSchema.optional().describe('Accepted since; a week before `to` when absent, all for a look-up'),
  to: rangeEndSchema.optional().describe('Accepted before; now when absent'),
  olderThan: z.uuid().optional().describe('The cursor `older` of a page'),
  newerThan: z.uuid().optional().describe('The cursor `newer` of a page'),
}

export const listQuery = z.object({
  ...filters,
  id: z.uuid().optional().describe('Look-up of one e-mail'),
  recipient: plain(320).optional().describe('Look-up by the hash of an address; POST keeps an address out of URLs'),
  externalId: plain(256).optional().describe('Look-up'),
  messageId: plain(998).optional().describe('Look-up by the message id of the provider'),
  limit: z.coerce.number().int().min(1).max(100).default(50),
})
export const searchBody = z
  .strictObject({
    ...filters,
    search: plain(998).describe('An id, an address or its hash, an external id or a message id'),
    limit: z.int().min(1).max(100).default(50),
  })
  .meta({ id: 'SearchEmails', example: { search: 'maria@example.com' } })

export type ListQuery = z.output<typeof listQuery>
export type SearchBody = z.output<typeof searchBody>
type Filters = Omit<SearchBody, 'search'>

/** null: a list, and no look-up. */
export function lookupOf({ id, recipient, externalId, messageId }: ListQuery): EmailLookup | null {
  const given: EmailLookup[] = []
  if (id !== undefined) given.push({ by: 'id', value: id.toLowerCase() })
  if (recipient !== undefined) given.push({ by: 'recipient', value: recipientHash(recipient) })
  if (externalId !== undefined) given.push({ by: 'externalId', value: externalId })
  if (messageId !== undefined) given.push({ by: 'messageId', value: messageId })
  if (given.length > 1) throw invalidField(given[1]!.by, `cannot be used together with ${given[0]!.by}`, 'NOT_TOGETHER')
  return given[0] ?? null
}

function recipientHash(text: string): string {
  const hash = readEmailHash(text)
  if (hash) return hash
  const [lookup] = recogniseSearch(text)
  if (lookup?.by !== 'recipient')
    throw invalidField('recipient', 'must be an address, or sha256: and its hash', 'INVALID_FORMAT')
  return lookup.value
}

export function filterOf(query: Filters, lookup: EmailLookup | null, now: Date): AdminEmailFilter {
  const { from, to } = query
  const isRanged = lookup === null || from !== undefined || to !== undefined
  const begin = from ?? new Date(Date.parse(to ?? now.toISOString()) - RANGE_DAYS * DAY_MS).toISOString()
  if (to !== undefined && begin >= to) throw invalidField('from', 'must be before to', 'RANGE_REVERSED')
  if (query.olderThan && query.newerThan)
    throw invalidField('newerThan', 'cannot be used together with olderThan', 'NOT_TOGETHER')
  return {
    lookup,
    range: isRanged ? { from: begin, to: to ?? null } : null,
    status: query.status ?? null,
    companyId: query.company ?? null,
    tag: query.tag ?? null,
    template: query.template ?? null,
    mode: query.mode ?? null,
    olderThan: query.olderThan ?? null,
    newerThan: query.newerThan ?? null,
    limit: query.limit,
  }
}
