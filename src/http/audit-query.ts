import { z } from 'zod'
import { recogniseSearch } from '../contracts/admin/email-search.ts'
import { rangeEndSchema } from '../contracts/instant.ts'
import { isUuid } from '../contracts/uuid.ts'
import type { AuditEntryKey, AuditFilter, AuditPosition, AuditTable, AuditWindow } from '../db/audit-list.ts'
import { invalidField } from './problem.ts'

const text = (max: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(max)
    .refine(value => !value.includes('\0'), 'must not contain NUL')

const ENTRY_ID = /^([as])(\d{1,18})$/

const filters = {
  id: z
    .string()
    .regex(ENTRY_ID, 'must be the id of an entry')
    .optional()
    .describe('This entry alone, whatever page it is on'),
  performedBy: text(100)
    .optional()
    .describe('Name of an administrator, `cli:` and a user, or `key` and the id of an API key'),
  actor: z
    .enum(['people'])
    .optional()
    .describe('`people`: without what the gateway did by itself, such as suppressing an address that bounced'),
  action: text(100).optional(),
  subjectType: text(100).optional(),
  subjectId: text(200)
    .optional()
    .describe('Its id; of a suppression the address or its hash, with or without `sha256:`'),
  company: z
    .string()
    .toLowerCase()
    .refine(value => isUuid(value), 'must be the id of a company')
    .optional(),
  from: rangeEndSchema.optional(),
  to: rangeEndSchema.optional(),
}

export const auditQuery = z.object({
  ...filters,
  olderThan: z.string().max(200).optional().describe('The cursor `older` of a page'),
  newerThan: z.string().max(200).optional().describe('The cursor `newer` of a page'),
  limit: z.coerce.number().int().min(1).max(200).default(50),
})
export const auditExportQuery = z.object({ ...filters, format: z.enum(['csv', 'jsonl']).default('csv') })

export function auditFilter(query: z.output<typeof auditExportQuery> | z.output<typeof auditQuery>): AuditFilter {
  const { performedBy = null, action = null, subjectType = null, subjectId } = query
  const { company: companyId = null, from = null, to = null, actor = null } = query
  const subjectIds = subjectId === undefined ? null : subjectIdsOf(subjectId)
  return { entry: entryOf(query.id), performedBy, action, subjectType, subjectIds, companyId, from, to, actor }
}

/** Suppressions have the hash of the address as their id. The text itself counts, too: administrators may have an address as their name. */
function subjectIdsOf(given: string): string[] {
  const recipients = recogniseSearch(given).filter(({ by }) => by === 'recipient')
  return [...new Set([given, ...recipients.map(({ value }) => value)])]
}

/** The id of an entry names its table and its number there. */
export const entryIdOf = ({ table, id }: AuditEntryKey) => `${table}${id}`

function entryOf(entryId: string | undefined): AuditEntryKey | null {
  const [, table, id] = ENTRY_ID.exec(entryId ?? '') ?? []
  return id === undefined ? null : { table: table as AuditTable, id }
}

export function auditWindow({ olderThan, newerThan, limit }: z.output<typeof auditQuery>): AuditWindow {
  if (newerThan) return { newer: positionOf(newerThan, 'newerThan'), limit }
  return olderThan ? { older: positionOf(olderThan, 'olderThan'), limit } : { limit }
}

export const cursorOf = ({ time, table, id }: AuditPosition) =>
  Buffer.from([time, table, id].join(' ')).toString('base64url')

function positionOf(cursor: string, field: string): AuditPosition {
  const [time = '', table, id = '', ...rest] = Buffer.from(cursor, 'base64url').toString('utf8').split(' ')
  const isTable = table === 'a' || table === 's'
  if (isTable && rangeEndSchema.safeParse(time).success && /^\d{1,18}$/.test(id) && rest.length === 0)
    return { time, table, id }
  throw invalidField(field, 'is not a cursor of this list', 'INVALID_CURSOR')
}
