import { z } from 'zod'
import { justificationSchema } from '../audit/justification.ts'
import { cachedQuery } from '../platform/cache.ts'
import type { ConnectionTarget } from '../platform/postgres/connection.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { maskSensitive } from '../platform/text/masking.ts'
import { performedBy, SCOPES } from '../web/access.ts'
import { invalidField, Problem } from '../web/problem.ts'
import { route } from '../web/route.ts'
import { type CompanyWebhooks, listCompanyWebhooks } from '../webhooks/overview.ts'
import { addCompany, changeCompany, companyAuditSchema, issueKey, listCompanyAudit, withdrawKey } from './changes.ts'
import { type Company, type CompanyChange, listCompanies } from './companies.ts'
import { changeAuthor, companyParams, onlyReason, reasonSchema, requireKnownCompany } from './company-of-request.ts'
import { apiKeySchema, listKeys } from './keys.ts'
import {
  type CompanyStandingRow,
  companyStandingSchema,
  listStandings,
  pauseManually,
  rateOf,
  resumeManually,
} from './reputation.ts'
import {
  COMPANY_LIMITS,
  companyChangeSchema,
  companySettingsSchema,
  companyWithKeySchema,
  newCompanySchema,
  parseDefaultFrom,
} from './settings.ts'
import { grantSqlAccess, readSqlAccess, withdrawSqlAccess } from './sql-access.ts'
import { type ActivityStep, listVolumes, readActivity, readCountedUntil } from './statistics.ts'
import { describeTurns, fairnessSchema, listQueues, listServed, readLastServed } from './turns.ts'

/** `database`: where companies with a database role connect to. */
export type CompanyRouteDeps = { db: Database; pepper: string; database: ConnectionTarget }

/** How far back the attempts of companies are counted. */
const WINDOW_SECONDS = 300
const FAIRNESS_CACHE_MS = 2_000

export function companyRoutes({ db, pepper, database }: CompanyRouteDeps) {
  const readTurns = cachedQuery(FAIRNESS_CACHE_MS, () => queryTurns(db))

  return {
    list: route(
      {
        method: 'GET',
        path: '/admin/companies',
        access: { admin: 'viewer' },
        summary:
          'Companies, their bounce and complaint rates, who is warned or paused, and whose webhooks are disabled',
        response: z.object({ data: z.array(companyStandingSchema) }),
      },
      async () => ({ data: await listCompanyViews(db) }),
    ),

    create: route(
      {
        method: 'POST',
        path: '/admin/companies',
        access: { admin: 'administrator' },
        summary: 'Create a company and its first API key, which is shown once',
        body: newCompanySchema,
        response: { 201: companyWithKeySchema },
        refusals: [409],
      },
      async ({ body: { reason, ...wanted } }, { principal, status, header }) => {
        const company = withSender(wanted, { fromDomains: [], defaultFrom: null })
        const added = await addCompany(db, pepper, company, changeAuthor(principal, reason))
        if (!added) throw new Problem('COMPANY_EXISTS', { detail: `There is a company "${wanted.name}" already.` })
        status(201)
        header('location', `/admin/companies/${added.company.companyId}`)
        return added
      },
    ),

    show: route(
      {
        method: 'GET',
        path: '/admin/companies/:companyId',
        access: { admin: 'viewer' },
        summary: 'The settings of one company',
        params: companyParams,
        response: companySettingsSchema,
      },
      ({ params }) => requireKnownCompany(db, params.companyId),
    ),

    change: route(
      {
        method: 'PATCH',
        path: '/admin/companies/:companyId',
        access: { admin: 'administrator' },
        summary: 'Change the given settings of a company and no others',
        params: companyParams,
        body: companyChangeSchema,
        response: companySettingsSchema,
      },
      async ({ params, body: { reason, ...wanted } }, { principal }) => {
        const company = await requireKnownCompany(db, params.companyId)
        const change = withSender(wanted, company)
        const changed = await changeCompany(db.pool, company.companyId, change, changeAuthor(principal, reason))
        if (!changed) throw new Problem('NOT_FOUND')
        return changed
      },
    ),

    audit: route(
      {
        method: 'GET',
        path: '/admin/companies/:companyId/audit',
        access: { admin: 'viewer' },
        summary: 'Who changed the company, its keys, webhooks and templates, when and why; newest first',
        params: companyParams,
        query: auditQuery,
        response: z.object({ data: z.array(companyAuditSchema), cursor: z.int().nullable(), hasMore: z.boolean() }),
      },
      async ({ params, query: { cursor: beforeId = null, limit } }) => {
        const { companyId } = await requireKnownCompany(db, params.companyId)
        const rows = await listCompanyAudit(db.pool, companyId, { beforeId, limit: limit + 1 })
        const data = rows.slice(0, limit)
        const hasMore = rows.length > limit
        return { data, cursor: hasMore ? data.at(-1)!.id : null, hasMore }
      },
    ),

    pause: route(
      {
        method: 'POST',
        path: '/admin/companies/:companyId/pause',
        access: { admin: 'administrator' },
        summary: 'Pause a company: its mail waits',
        params: companyParams,
        body: whyBody,
        response: pausedSchema,
        refusals: [409],
      },
      async ({ params, body }, { principal, log }) => {
        const { companyId } = await requireKnownCompany(db, params.companyId)
        const by = { reason: maskSensitive(body.reason), performedBy: performedBy(principal) }
        if (!(await pauseManually(db.pool, { companyId, ...by }))) throw new Problem('PAUSED_BY_REPUTATION')
        log.info({ companyId, ...by }, 'Company: pause')
        return { companyId, paused: true, ...by }
      },
    ),

    resume: route(
      {
        method: 'POST',
        path: '/admin/companies/:companyId/resume',
        access: { admin: 'administrator' },
        summary: 'Resume a company: its mail goes on, and its figures begin anew',
        params: companyParams,
        body: whyBody,
        response: pausedSchema,
        refusals: [409],
      },
      async ({ params, body }, { principal, log }) => {
        const { companyId } = await requireKnownCompany(db, params.companyId)
        const by = { reason: maskSensitive(body.reason), performedBy: performedBy(principal) }
        if (!(await resumeManually(db.pool, { companyId, ...by }))) throw new Problem('NOT_PAUSED')
        log.info({ companyId, ...by }, 'Company: resume')
        return { companyId, paused: false, ...by }
      },
    ),

    activity: route(
      {
        method: 'GET',
        path: '/admin/companies/:companyId/activity',
        access: { admin: 'viewer' },
        summary: 'What became of the e-mails of a company, per hour or day',
        params: companyParams,
        query: z.object({ range: z.enum(Object.keys(RANGES) as (keyof typeof RANGES)[]).default('24h') }),
        response: activitySchema,
      },
      async ({ params, query }) => {
        const { companyId } = await requireKnownCompany(db, params.companyId)
        const range = RANGES[query.range]
        const [data, countedUntil] = await Promise.all([
          readActivity(db.pool, companyId, range),
          readCountedUntil(db.pool),
        ])
        return { step: range.step, countedUntil, data }
      },
    ),

    fairness: route(
      {
        method: 'GET',
        path: '/admin/fairness',
        access: { admin: 'viewer' },
        summary: 'Who is served how often, and who waits how long',
        query: z.object({
          company: z.uuid().optional().describe('Is part of the answer also when it is idle'),
          limit: z.coerce.number().int().min(1).max(1000).default(50),
        }),
        response: fairnessSchema,
      },
      async ({ query: { company = null, limit } }) => {
        const { at, lastServed, companies } = await readTurns()
        const { data, ...figures } = describeTurns(companies, company)
        const shown = data.filter((one, index) => index < limit || one.companyId === company)
        return { at, windowSeconds: WINDOW_SECONDS, lastServed, ...figures, data: shown }
      },
    ),

    listKeys: route(
      {
        method: 'GET',
        path: '/admin/companies/:companyId/keys',
        access: { admin: 'viewer' },
        summary: 'API keys of a company, newest first, without their secrets',
        params: companyParams,
        response: z.object({ data: z.array(apiKeySchema) }),
      },
      async ({ params }) => {
        const { companyId } = await requireKnownCompany(db, params.companyId)
        const keys = await listKeys(db.pool, companyId)
        return { data: keys.reverse().map(({ companyId: _, companyName: __, ...key }) => key) }
      },
    ),

    createKey: route(
      {
        method: 'POST',
        path: '/admin/companies/:companyId/keys',
        access: { admin: 'administrator' },
        summary: 'Create an API key; the answer shows it, once',
        params: companyParams,
        body: newKeyBody,
        response: { 201: newKeySchema },
      },
      async ({ params, body: { reason, ...wanted } }, { principal, status }) => {
        const { companyId } = await requireKnownCompany(db, params.companyId)
        status(201)
        return issueKey(db.pool, pepper, { companyId, ...wanted }, changeAuthor(principal, reason))
      },
    ),

    revokeKey: route(
      {
        method: 'POST',
        path: '/admin/companies/:companyId/keys/:keyId/revoke',
        access: { admin: 'administrator' },
        summary: 'Revoke an API key: every process refuses it within a second',
        params: companyParams.extend({ keyId: z.string().max(100) }),
        body: onlyReason,
        response: z.object({ keyId: z.string(), revoked: z.literal(true) }),
      },
      async ({ params, body }, { principal }) => {
        const { companyId } = await requireKnownCompany(db, params.companyId)
        const { keyId } = params
        const known = (await listKeys(db.pool, companyId)).some(key => key.keyId === keyId)
        if (!known) throw new Problem('NOT_FOUND', { detail: 'The company has no such key.' })
        // One that was revoked before stays so.
        await withdrawKey(db.pool, keyId, { companyId }, changeAuthor(principal, body.reason))
        return { keyId, revoked: true as const }
      },
    ),

    sqlAccess: route(
      {
        method: 'GET',
        path: '/admin/companies/:companyId/sql-access',
        access: { admin: 'viewer' },
        summary: 'Whether a company has a database role',
        params: companyParams,
        response: accessSchema,
      },
      async ({ params }) => {
        const { companyId } = await requireKnownCompany(db, params.companyId)
        return { ...(await readSqlAccess(db.pool, companyId)), ...database }
      },
    ),

    grantSqlAccess: route(
      {
        method: 'POST',
        path: '/admin/companies/:companyId/sql-access',
        access: { admin: 'administrator' },
        summary: 'Make its database role, or give the one that is there a new password; it is shown once',
        params: companyParams,
        body: onlyReason,
        response: { 201: grantedSchema },
        refusals: [409],
      },
      async ({ params, body }, { principal, status }) => {
        const { companyId } = await requireKnownCompany(db, params.companyId)
        const granted = await grantSqlAccess(db.pool, companyId, changeAuthor(principal, body.reason))
        if (granted.kind === 'unsafe') throw new Problem('SQL_ACCESS_UNSAFE', { detail: granted.message })
        const { role, password } = granted
        const { host, port, database: name } = database
        status(201)
        return {
          role,
          password,
          url: `postgres://${role}:${password}@${host.includes(':') ? `[${host}]` : host}:${port}/${encodeURIComponent(name)}`,
          created: granted.kind === 'granted',
          statements: granted.kind === 'statements' ? granted.statements : [],
          ...database,
        }
      },
    ),

    revokeSqlAccess: route(
      {
        method: 'POST',
        path: '/admin/companies/:companyId/sql-access/revoke',
        access: { admin: 'administrator' },
        summary: 'Remove its database role and end its sessions',
        params: companyParams,
        body: onlyReason,
        response: revokedSchema,
      },
      async ({ params, body }, { principal }) => {
        const { companyId } = await requireKnownCompany(db, params.companyId)
        const author = changeAuthor(principal, body.reason)
        const { role, found, dropped } = await withdrawSqlAccess(db.pool, companyId, author)
        if (!found) throw new Problem('NOT_FOUND', { detail: 'The company has no database role.' })
        return { role, removed: dropped }
      },
    ),
  }
}

const auditQuery = z.object({
  cursor: z.coerce.number().int().min(1).optional(),
  limit: z.coerce.number().int().min(1).max(200).default(100),
})
const whyBody = z.strictObject({ reason: justificationSchema }).meta({
  id: 'CompanyReason',
  example: { reason: 'Asked by the customer, see their letter of today' },
})
const pausedSchema = z.object({
  companyId: z.uuid(),
  paused: z.boolean(),
  reason: z.string(),
  performedBy: z.string(),
})

/** One step more than the range has: the first and the last one are parts of it. */
const RANGES = {
  '24h': { step: 'hour', count: 25 },
  '7d': { step: 'hour', count: 169 },
  '30d': { step: 'day', count: 31 },
} as const satisfies Record<string, { step: ActivityStep; count: number }>

const count = z.int()
const activitySchema = z
  .object({
    step: z.enum(['hour', 'day']).describe('What one entry of data stands for; days are those of UTC'),
    countedUntil: z.iso.datetime().describe('Later events are not counted yet'),
    data: z.array(
      z.object({
        at: z.iso.datetime().describe('Its beginning'),
        requests: count.describe('Recipients that were asked for, also suppressed ones'),
        suppressed: count.describe('Recipients'),
        accepted: count.describe('E-mails'),
        sent: count.describe('E-mails'),
        delivered: count.describe('Recipients: an e-mail may have several'),
        bounced: count.describe('Recipients'),
        complained: count.describe('Recipients'),
        rejected: count.describe('E-mails'),
        failed: count.describe('E-mails'),
        expired: count.describe('E-mails'),
      }),
    ),
  })
  .meta({ id: 'CompanyActivity' })
const newKeyBody = z
  .strictObject({
    name: z
      .string()
      .trim()
      .max(COMPANY_LIMITS.KEY_NAME_CHARS)
      .refine(text => !/[\u0000-\u001f\u007f]/.test(text), 'must not contain control characters')
      .transform(text => text || null)
      .nullable()
      .default(null),
    mode: z.enum(['live', 'test']).default('live').describe('test: its e-mails are never sent to a provider'),
    scopes: z
      .array(z.enum(SCOPES))
      .min(1)
      .max(SCOPES.length)
      .default([...SCOPES])
      .transform(scopes => [...new Set(scopes)]),
    reason: reasonSchema,
  })
  .meta({ id: 'NewApiKey', example: { name: 'shop', mode: 'live', scopes: ['send'] } })
const newKeySchema = z
  .object({ keyId: z.string(), apiKey: z.string().describe('Shown now and never again') })
  .meta({ id: 'ApiKeyWithSecret' })

const target = { host: z.string(), port: z.int(), database: z.string() }
const accessSchema = z
  .object({
    role: z.string(),
    grantedAt: z.iso.datetime().nullable().describe('null: the company has no database role'),
    sessions: z.int().describe('Connections that it has open now'),
    ...target,
  })
  .meta({ id: 'SqlAccess' })
const grantedSchema = z
  .object({
    role: z.string(),
    password: z.string().describe('Shown now and never again'),
    url: z.string().describe('The connection with the password'),
    created: z
      .boolean()
      .describe('false: the gateway may not create roles; an administrator of the server runs `statements`'),
    statements: z.array(z.string()),
    ...target,
  })
  .meta({ id: 'GrantedSqlAccess' })
const revokedSchema = z
  .object({
    role: z.string(),
    removed: z
      .boolean()
      .describe('false: it has no access any more, and stays, because it owns something or may not be dropped'),
  })
  .meta({ id: 'RevokedSqlAccess' })

const NO_WEBHOOKS: CompanyWebhooks = { enabled: 0, failing: 0, disabled: [] }

async function listCompanyViews(db: Database) {
  const [standings, webhooks, queues, volumes] = await Promise.all([
    listStandings(db.pool),
    listCompanyWebhooks(db.pool),
    listQueues(db.pool),
    listVolumes(db.pool),
  ])
  const queueOf = new Map(queues.map(queue => [queue.companyId, queue]))
  return standings.map(row => ({
    ...toView(row),
    accepted: volumes.get(row.companyId) ?? 0,
    waiting: queueOf.get(row.companyId)?.ready ?? 0,
    oldestWaitingSeconds: queueOf.get(row.companyId)?.oldestWaitingSeconds ?? null,
    webhooks: webhooks.get(row.companyId) ?? NO_WEBHOOKS,
  }))
}

function toView(row: CompanyStandingRow) {
  const { sent, bounced, complained } = row
  return {
    ...row,
    state: row.pausedAt ? ('paused' as const) : row.warnedAt ? ('warned' as const) : ('active' as const),
    bounceRate: rateOf(bounced, sent),
    complaintRate: rateOf(complained, sent),
  }
}

/** The default sender has to be of one of the domains, whichever of the two is changed. */
function withSender<Wanted extends CompanyChange>(
  wanted: Wanted,
  current: Pick<Company, 'fromDomains' | 'defaultFrom'>,
) {
  const { defaultFrom = current.defaultFrom, fromDomains = current.fromDomains } = wanted
  if (defaultFrom === null) return wanted
  const parsed = parseDefaultFrom(defaultFrom, fromDomains)
  if (!parsed.ok) throw invalidField('defaultFrom', parsed.problem, parsed.code)
  return wanted.defaultFrom === undefined ? wanted : { ...wanted, defaultFrom: parsed.value }
}

async function queryTurns(db: Database) {
  const [companies, queues, served, lastServed] = await Promise.all([
    listCompanies(db.pool),
    listQueues(db.pool),
    listServed(db.pool, WINDOW_SECONDS),
    readLastServed(db.pool),
  ])
  const queueOf = new Map(queues.map(queue => [queue.companyId, queue]))
  const attemptsOf = new Map(served.map(one => [one.companyId, one.attempts]))
  const turns = companies.map(({ companyId, name, weight, ratePerSecond, pausedAt }) => ({
    companyId,
    name,
    weight,
    ratePerSecond,
    paused: pausedAt !== null,
    ready: queueOf.get(companyId)?.ready ?? 0,
    oldestWaitingSeconds: queueOf.get(companyId)?.oldestWaitingSeconds ?? null,
    attempts: attemptsOf.get(companyId) ?? 0,
  }))
  return { at: db.clock.now().toISOString(), lastServed, companies: turns }
}
