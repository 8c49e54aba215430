import { z } from 'zod'
import { justificationSchema } from '../audit/justification.ts'
import { findCompany } from '../companies/companies.ts'
import { cachedQuery } from '../platform/cache.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { readEmailHash } from '../platform/text/hashing.ts'
import { rangeEndSchema } from '../platform/text/instant.ts'
import { isUuid } from '../platform/text/uuid.ts'
import { isTestKey, performedBy } from '../web/access.ts'
import { invalidField, Problem } from '../web/problem.ts'
import { route } from '../web/route.ts'
import { addSuppressions, type RemovalOutcome, removeSuppression } from './list.ts'
import {
  countActive,
  ENDINGS,
  findBlocking,
  findEntries,
  listAudit,
  listEnded,
  listHistory,
  listSuppressions,
  readStats,
  SUPPRESSION_ORDERS,
  SUPPRESSION_SORTS,
  type SuppressionCursor,
  type SuppressionFilter,
  type SuppressionOrder,
} from './reads.ts'
import { listOf, SUPPRESSION_REASONS, type SuppressionPolicy } from './rules.ts'
import {
  addressSchema,
  endedSuppressionsSchema,
  hashOfAddress,
  SUPPRESSION_LIMITS,
  type SuppressionRow,
  suppressionCheckSchema,
  suppressionDetailsSchema,
  suppressionHistorySchema,
  suppressionPageSchema,
  suppressionStatsSchema,
} from './view.ts'

export type SuppressionRouteDeps = { db: Database; suppression: SuppressionPolicy }

const STATS_CACHE_MS = 1_000

export function suppressionRoutes({ db, suppression }: SuppressionRouteDeps) {
  const activeCounts = cachedQuery(STATS_CACHE_MS, () => countActive(db.pool))

  return {
    check: route(
      {
        method: 'POST',
        path: '/v1/suppression/check',
        access: { key: 'read' },
        tag: 'Suppression',
        summary: 'Whether mail to an address is suppressed',
        body: checkBody,
        response: suppressionCheckSchema,
      },
      ({ body }, { principal, companyId }) => checkAddress(db, body.email, { companyId, test: isTestKey(principal) }),
    ),

    checkByQuery: route(
      {
        method: 'GET',
        path: '/v1/suppression/check',
        access: { key: 'read' },
        tag: 'Suppression',
        summary: 'Whether mail to an address is suppressed; prefer POST, since query strings end up in logs',
        query: checkQuery,
        response: suppressionCheckSchema,
      },
      ({ query }, { principal, companyId }) => checkAddress(db, query.email, { companyId, test: isTestKey(principal) }),
    ),

    removeOwn: route(
      {
        method: 'DELETE',
        path: '/v1/suppression',
        access: { key: 'manage' },
        tag: 'Suppression',
        summary: 'Take an address off the list, and say why; complaints stay',
        body: removeOwnBody,
        response: z.object({ removed: z.literal(true), emailHash: z.string() }),
        refusals: [404],
      },
      async ({ body: { email, justification } }, { principal, companyId }) => {
        const emailHash = hashOrProblem(email)
        const keyId = principal.kind === 'key' ? principal.keyId : null
        const remover = { companyId, keyId, test: isTestKey(principal) }
        await removeFromOwnList({ db, suppression }, remover, emailHash, justification)
        return { removed: true as const, emailHash }
      },
    ),

    list: route(
      {
        method: 'GET',
        path: '/admin/suppression',
        access: { admin: 'viewer' },
        summary: 'The suppression list, newest first',
        query: listQuery,
        response: suppressionPageSchema,
      },
      ({ query }) => listPage(db, query),
    ),

    search: route(
      {
        method: 'POST',
        path: '/admin/suppression/search',
        access: { admin: 'viewer' },
        summary: 'The same, with an address that does not end up in a URL',
        body: searchBody,
        response: suppressionPageSchema,
      },
      ({ body }) => listPage(db, body),
    ),

    stats: route(
      {
        method: 'GET',
        path: '/admin/suppression/stats',
        access: { admin: 'viewer' },
        summary: 'How many, how often they stop mail, and how they grow',
        response: suppressionStatsSchema,
      },
      () => readStats(db.pool, activeCounts),
    ),

    show: route(
      {
        method: 'GET',
        path: '/admin/suppression/:emailHash',
        access: { admin: 'viewer' },
        summary: 'One entry with its history',
        params: entryParams,
        query: entryQuery,
        response: suppressionDetailsSchema,
      },
      async ({ params, query }) => {
        const entry = await findEntry(db, params.emailHash, query.company)
        const auditLog = await listAudit(db.pool, entry.emailHash, entry.companyId)
        return { ...toView(entry), updatedAt: entry.updatedAt, auditLog }
      },
    ),

    add: route(
      {
        method: 'POST',
        path: '/admin/suppression',
        access: { admin: 'support' },
        summary: 'Put an address on the list by hand',
        body: addBody,
        response: { 200: addedSchema.describe('It was listed at least as gravely and as long'), 201: addedSchema },
      },
      async ({ body }, { principal, status }) => {
        const companyId = await listOfCompany(db, body.company)
        const emailHash = body.email === undefined ? validHash(body.emailHash ?? '') : hashOrProblem(body.email)
        const { reason, justification } = body
        const expiresInDays = body.expiresInDays ?? suppression.ttlDays[reason]
        const addition = { companyId, emailHash, reason, expiresInDays, metadata: {}, justification }
        const [result] = await addSuppressions(db.pool, [{ ...addition, performedBy: performedBy(principal) }])
        const entry = (await findEntries(db.pool, emailHash)).find(one => one.companyId === companyId)
        const added = result!.outcome !== 'unchanged'
        if (added) status(201)
        return { added, emailHash, expiresAt: entry?.expiresAt ?? null }
      },
    ),

    remove: route(
      {
        method: 'DELETE',
        path: '/admin/suppression/:emailHash',
        access: { admin: 'support' },
        summary: 'Take it off the list, and say why; complaints stay',
        params: entryParams,
        query: entryQuery,
        body: removeBody,
        response: removedSchema,
      },
      async ({ params, query, body }, { principal }) => {
        const { emailHash, companyId } = await findEntry(db, params.emailHash, query.company)
        const removedBy = performedBy(principal)
        const removal = { emailHash, lists: [companyId], performedBy: removedBy, justification: body.justification }
        const { removedAt } = removedOrProblem(await removeSuppression(db.pool, removal))
        return { removed: true as const, emailHash, removedBy, removedAt }
      },
    ),

    listEnded: route(
      {
        method: 'GET',
        path: '/admin/suppression/ended',
        access: { admin: 'viewer' },
        summary: 'Entries that are no longer on the list: removed with which justification, or expired; newest first',
        query: endedQuery,
        response: endedSuppressionsSchema,
      },
      async ({ query: { ending, cursor = null, limit } }) => {
        const { entries, next } = await listEnded(db.pool, ending, { before: cursor, limit })
        return { data: entries, cursor: next, hasMore: next !== null }
      },
    ),

    history: route(
      {
        method: 'GET',
        path: '/admin/suppression/:emailHash/history',
        access: { admin: 'viewer' },
        summary: 'One address on all lists, with every change: also when it is on none any more',
        params: entryParams,
        response: suppressionHistorySchema,
      },
      async ({ params }) => {
        const history = await readHistory(db, hashInPath(params.emailHash))
        if (history.entries.length + history.auditLog.length === 0) throw new Problem('NOT_SUPPRESSED')
        return history
      },
    ),

    lookUp: route(
      {
        method: 'POST',
        path: '/admin/suppression/look-up',
        access: { admin: 'viewer' },
        summary: 'The same by an address, which does not end up in a URL; empty lists when it never was suppressed',
        body: lookUpBody,
        response: suppressionHistorySchema,
      },
      ({ body }) => readHistory(db, hashOrProblem(body.email)),
    ),
  }
}

const checkBody = z
  .strictObject({ email: addressSchema })
  .meta({ id: 'CheckSuppression', example: { email: 'maria@example.com' } })
const checkQuery = z.object({ email: addressSchema.describe('Percent-encoded: a plus sign is %2B') })
const removeOwnBody = z.strictObject({ email: addressSchema, justification: justificationSchema }).meta({
  id: 'RemoveSuppression',
  example: { email: 'maria@example.com', justification: 'Maria has a new mailbox under the same address' },
})

/** `global`, or the id of a company. */
const listSchema = z
  .string()
  .toLowerCase()
  .refine(text => text === 'global' || isUuid(text), 'must be the id of a company, or global')
const filters = {
  reason: z.enum(SUPPRESSION_REASONS).optional(),
  company: listSchema.optional().describe('A company, or global'),
  search: z
    .string()
    .max(320)
    .optional()
    .describe('A hash, its first digits (four or more), or an address; POST keeps an address out of URLs'),
  addedAfter: rangeEndSchema.optional(),
  addedBefore: rangeEndSchema.optional(),
  expiresAfter: rangeEndSchema.optional().describe('Includes what never expires'),
  expiresBefore: rangeEndSchema.optional(),
  expires: z.enum(['never']).optional(),
  sort: z.enum(SUPPRESSION_SORTS).default('addedAt'),
  order: z.enum(SUPPRESSION_ORDERS).default('desc'),
  cursor: z.string().max(200).optional(),
}
const limitInQuery = z.coerce.number().int().min(1).max(SUPPRESSION_LIMITS.PAGE).default(50)
const listQuery = z.object({ ...filters, limit: limitInQuery })
const searchBody = z
  .strictObject({ ...filters, limit: z.int().min(1).max(SUPPRESSION_LIMITS.PAGE).default(50) })
  .meta({ id: 'SearchSuppressions', example: { reason: 'HARD_BOUNCE', limit: 50 } })

const entryParams = z.object({ emailHash: z.string() })
const entryQuery = z.object({ company: listSchema.optional().describe('Needed when several lists have the address') })

const addBody = z
  .strictObject({
    email: addressSchema.optional(),
    emailHash: z.string().max(71).optional(),
    reason: z.literal('MANUAL').default('MANUAL'),
    expiresInDays: z.int().min(0).max(SUPPRESSION_LIMITS.EXPIRES_IN_DAYS).optional().describe('0: for ever'),
    company: listSchema.optional().describe('The list of one company instead of the global one'),
    justification: justificationSchema,
  })
  .refine(body => (body.email === undefined) !== (body.emailHash === undefined), 'give email or emailHash')
  .meta({
    id: 'AddSuppression',
    example: { email: 'no-more-mail@example.com', justification: 'Asked by phone for no more mail' },
  })
const addedSchema = z.object({ added: z.boolean(), emailHash: z.string(), expiresAt: z.iso.datetime().nullable() })

const removeBody = z.strictObject({ justification: justificationSchema }).meta({
  id: 'RemoveSuppressionByAdmin',
  example: { justification: 'The mailbox works again; confirmed by phone' },
})
const removedSchema = z.object({
  removed: z.literal(true),
  emailHash: z.string(),
  removedBy: z.string(),
  removedAt: z.iso.datetime(),
})

const endedQuery = z.object({
  ending: z.enum(ENDINGS).default('REMOVED'),
  cursor: z
    .string()
    .regex(/^[0-9]{1,18}$/, 'is not a cursor of this list')
    .optional(),
  limit: limitInQuery,
})
const lookUpBody = z
  .strictObject({ email: addressSchema })
  .meta({ id: 'LookUpSuppression', example: { email: 'maria@example.com' } })

/** The list is live data: test mail is never suppressed, and a test key must not reveal listed addresses. */
async function checkAddress(db: Database, email: string, { companyId, test }: { companyId: string; test: boolean }) {
  const emailHash = hashOrProblem(email)
  const entry = test ? null : await findBlocking(db.pool, emailHash, companyId)
  if (!entry) return { suppressed: false as const }
  const { reason, addedAt, expiresAt } = entry
  return { suppressed: true as const, reason, addedAt, expiresAt }
}

/** For a company, from the lists that are its own. */
export async function removeFromOwnList(
  { db, suppression }: SuppressionRouteDeps,
  { companyId, keyId, test }: { companyId: string; keyId: string | null; test: boolean },
  emailHash: string,
  justification: string,
): Promise<void> {
  if (test) throw new Problem('NOT_SUPPRESSED', { detail: 'The suppression list is live data; use a live key.' })
  // With SUPPRESSION_SCOPE=global a company may still have entries of its own from before, which block as well.
  const lists = [...new Set([companyId, listOf(companyId, suppression.scope)])]
  const removal = { emailHash, lists, performedBy: companyId, justification, metadata: keyId ? { keyId } : {} }
  const outcome = await removeSuppression(db.pool, removal)
  if (outcome.kind === 'not-listed' && (await findBlocking(db.pool, emailHash, companyId)))
    throw new Problem('NOT_SUPPRESSED', {
      detail: "The address is on the gateway's own list, not on this company's; ask its administrators.",
    })
  removedOrProblem(outcome)
}

function removedOrProblem(outcome: RemovalOutcome) {
  if (outcome.kind === 'complaint') throw new Problem('COMPLAINT_NOT_REMOVABLE')
  if (outcome.kind === 'not-listed') throw new Problem('NOT_SUPPRESSED')
  return outcome
}

export function hashOrProblem(email: string, path = 'email'): string {
  const hashed = hashOfAddress(email)
  if (!hashed.ok) throw new Problem('INVALID_EMAIL', { errors: [{ path, ...hashed.problem }] })
  return hashed.emailHash
}

function validHash(text: string): string {
  const emailHash = readEmailHash(text)
  if (!emailHash) throw invalidField('emailHash', 'must be sha256: and 64 hexadecimal digits', 'INVALID_FORMAT')
  return emailHash
}

function hashInPath(text: string): string {
  const emailHash = readEmailHash(text)
  if (emailHash) return emailHash
  throw new Problem('NOT_SUPPRESSED', { detail: 'An address hash is sha256: and 64 hexadecimal digits.' })
}

/** null is the global list. */
async function listOfCompany(db: Database, company: string | undefined): Promise<string | null> {
  if (company === undefined || company === 'global') return null
  if (await findCompany(db.pool, company)) return company
  throw invalidField('company', 'there is no such company', 'INVALID_VALUE')
}

/** Without a company: the entry of the global list, or the only one there is. */
async function findEntry(db: Database, hash: string, company: string | undefined): Promise<SuppressionRow> {
  const entries = await findEntries(db.pool, hashInPath(hash))
  const list = company === undefined || company === 'global' ? null : company
  const entry =
    entries.find(({ companyId }) => companyId === list) ??
    (company === undefined && entries.length === 1 ? entries[0] : undefined)
  if (entry) return entry
  if (company !== undefined || entries.length === 0) throw new Problem('NOT_SUPPRESSED')
  throw new Problem('NOT_SUPPRESSED', {
    detail: `It is not on the global list, but on those of ${entries.length} companies; name one with ?company=.`,
  })
}

type ListQuery = z.output<typeof listQuery>

async function listPage(db: Database, query: ListQuery) {
  const window = { after: fromCursor(query.cursor, query), limit: query.limit }
  const { entries, next } = await listSuppressions(db.pool, toFilter(query), query, window)
  return { data: entries.map(toView), cursor: next && toCursor(query, next), hasMore: next !== null }
}

function toFilter(query: ListQuery): SuppressionFilter {
  return {
    reason: query.reason ?? null,
    list: query.company === undefined ? null : { companyId: query.company === 'global' ? null : query.company },
    hash: query.search === undefined ? null : { prefix: searchPrefix(query.search.trim()) },
    addedAfter: query.addedAfter ?? null,
    addedBefore: query.addedBefore ?? null,
    expiresAfter: query.expiresAfter ?? null,
    expiresBefore: query.expiresBefore ?? null,
    never: query.expires === 'never',
  }
}

/** Lists show hashes abbreviated, so the search accepts a prefix with or without an ellipsis. */
const HASH_PREFIX = /^(?:sha256:)?([0-9a-f]{4,64})(?:\.{3}|…)?$/i

function searchPrefix(text: string): string {
  const [, digits] = HASH_PREFIX.exec(text) ?? []
  return digits ? `sha256:${digits.toLowerCase()}` : hashOrProblem(text, 'search')
}

/** The cursor contains the sort order: with another order it would silently skip entries. */
function toCursor({ sort, order }: SuppressionOrder, { key, id }: SuppressionCursor): string {
  return Buffer.from([sort, order, key, id].join(' ')).toString('base64url')
}

function fromCursor(cursor: string | undefined, { sort, order }: SuppressionOrder): SuppressionCursor | null {
  if (cursor === undefined) return null
  const [cursorSort, cursorOrder, key = '', id = '', ...rest] = Buffer.from(cursor, 'base64url')
    .toString('utf8')
    .split(' ')
  const isKey = key === 'infinity' || rangeEndSchema.safeParse(key).success
  if (cursorSort === sort && cursorOrder === order && isKey && isUuid(id) && rest.length === 0) return { key, id }
  throw invalidField('cursor', 'is not a cursor of this list in this order', 'INVALID_CURSOR')
}

/** `companyId` only for an entry of a company's own list. */
function toView({ id, companyId, emailHash, reason, addedAt, expiresAt, metadata }: SuppressionRow) {
  return { id, ...(companyId && { companyId }), emailHash, reason, addedAt, expiresAt, metadata }
}

async function readHistory({ pool }: Database, emailHash: string) {
  const [entries, auditLog] = await Promise.all([findEntries(pool, emailHash), listHistory(pool, emailHash)])
  const shown = entries.map(({ companyId, ...entry }) => ({ ...entry, ...(companyId && { companyId }) }))
  return { emailHash, entries: shown, auditLog }
}
