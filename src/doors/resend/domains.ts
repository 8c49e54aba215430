import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { authorOf, ownerOf, requireKey } from '../../companies/require-key.ts'
import { parseFromDomain } from '../../companies/settings.ts'
import {
  addDomain,
  checkDomain,
  type DomainDeps,
  type DomainState,
  type RecordState,
  removeDomain,
} from '../../domains/domains.ts'
import { countDomainCall, type DomainRow, findDomain, listDomains } from '../../domains/stored.ts'
import { isUuid } from '../../platform/text/uuid.ts'
import { AwsCallFailed } from '../../providers/aws.ts'
import { type DnsRecord, ProviderDomainsFailed } from '../../providers/domains.ts'
import { invalidField, Problem } from '../../web/problem.ts'
import type { App } from '../../web/server.ts'
import { described, idParams, type PageQuery, pageOf, pageQuery } from './describe.ts'
import { resendRefusals } from './errors.ts'
import type { ResendRouteDeps } from './routes.ts'

const notOffered = (what: string) => z.undefined(`is not offered: ${what}`).optional()
const only = <Value extends string | boolean>(value: Value, why: string) =>
  z.literal(value, `must be ${value}: ${why}`).optional()

/** As the SDK sends it; what the gateway does not do is refused by name. */
const newDomainBody = z
  .strictObject({
    name: z
      .string()
      .max(253)
      .transform((text, context): string => {
        const parsed = parseFromDomain(text)
        if (parsed.ok) return parsed.value
        context.issues.push({ code: 'custom', message: parsed.problem, input: text })
        return z.NEVER
      }),
    region: z.string().max(30).optional(),
    custom_return_path: notOffered('the gateway chooses the subdomain'),
    capabilities: z
      .strictObject({
        sending: only('enabled', 'the gateway sends'),
        receiving: only('disabled', 'the gateway receives no e-mail'),
      })
      .optional(),
    open_tracking: only(false, 'the gateway tracks nothing'),
    click_tracking: only(false, 'the gateway tracks nothing'),
    tls: only('opportunistic', 'the provider decides about TLS'),
    tracking_subdomain: notOffered('the gateway tracks nothing'),
  })
  .meta({ example: { name: 'example.com' } })

const domainFields = {
  id: z.uuid(),
  name: z.string(),
  status: z.enum(['verified', 'pending']),
  created_at: z.iso.datetime(),
  region: z.string(),
  capabilities: z.object({ sending: z.literal('enabled'), receiving: z.literal('disabled') }),
  open_tracking: z.literal(false),
  click_tracking: z.literal(false),
}
const recordSchema = z
  .object({
    record: z.enum(['DKIM', 'SPF', 'Ownership', 'DMARC']),
    name: z.string().describe('In full'),
    type: z.enum(['CNAME', 'MX', 'TXT']),
    ttl: z.literal('Auto'),
    status: z.enum(['not_started', 'verified', 'failed', 'pending', 'temporary_failure']),
    value: z.string(),
    priority: z.int().optional(),
  })
  .meta({ id: 'ResendDomainRecord' })

const object = z.literal('domain')
/** The answers of the routes. */
const domainAnswers = {
  created: z.object({ ...domainFields, records: z.array(recordSchema) }).meta({ id: 'ResendNewDomain' }),
  list: z
    .object({ object: z.literal('list'), has_more: z.boolean(), data: z.array(z.object(domainFields)) })
    .meta({ id: 'ResendDomainList' }),
  one: z.object({ object, ...domainFields, records: z.array(recordSchema) }).meta({ id: 'ResendDomain' }),
  checked: z.object({ object, id: z.uuid() }).meta({ id: 'ResendCheckedDomain' }),
  removed: z.object({ object, id: z.uuid(), deleted: z.literal(true) }).meta({ id: 'ResendRemovedDomain' }),
}

function toResendDomain({ domainId, domain, allowed, createdAt }: DomainRow, region: string) {
  return {
    id: domainId,
    name: domain,
    status: allowed ? ('verified' as const) : ('pending' as const),
    created_at: createdAt.toISOString(),
    region,
    capabilities: { sending: 'enabled' as const, receiving: 'disabled' as const },
    open_tracking: false as const,
    click_tracking: false as const,
  }
}

const RECORD_NAMES = { DKIM: 'DKIM', 'MAIL FROM': 'SPF', OWNERSHIP: 'Ownership', DMARC: 'DMARC' } as const
const STATUS = { found: 'verified', other: 'failed', missing: 'pending', unknown: 'temporary_failure' } as const

/** Names are in full: those of Resend are relative to the registered domain. */
function toResendRecord({ purpose, type, name, value, priority, state }: DnsRecord & { state?: RecordState }) {
  return {
    record: RECORD_NAMES[purpose],
    name,
    type,
    ttl: 'Auto' as const,
    status: state === undefined ? ('not_started' as const) : STATUS[state],
    value,
    ...(priority !== undefined && { priority }),
  }
}

/** `region`: what the answers name; the one of Amazon SES where that is in use. */
export type DomainRouteDeps = { domains: DomainDeps; region: string }

/** AWS allows one of these calls a second for the operator's whole account: no company may use that up. */
const CALLS_PER_MINUTE = 10

const schema = {
  create: described('Add a sender domain', {
    body: newDomainBody,
    response: { 201: domainAnswers.created, ...resendRefusals(409, 422, 429, 503) },
  }),
  list: described('Sender domains', {
    querystring: pageQuery,
    response: { 200: domainAnswers.list, ...resendRefusals(422) },
  }),
  get: described('One sender domain with its DNS records, as they are now', {
    params: idParams,
    response: { 200: domainAnswers.one, ...resendRefusals(404, 409, 429, 503) },
  }),
  verify: described('Check the DNS records of a sender domain', {
    params: idParams,
    response: { 200: domainAnswers.checked, ...resendRefusals(404, 409, 429, 503) },
  }),
  remove: described('Remove a sender domain', {
    params: idParams,
    response: { 200: domainAnswers.removed, ...resendRefusals(404, 409, 503) },
  }),
}

/** The company shows by a TXT record that the domain is its own; the rest is as with `email-gateway domain`. */
export function resendDomainRoutes(app: App, deps: ResendRouteDeps): void {
  const onRequest = requireKey(deps.keys, deps.pepper, 'manage')
  app.post('/domains', { onRequest, schema: schema.create }, (request, reply) => create(request, reply, deps))
  app.get('/domains', { onRequest, schema: schema.list }, request => list(request, deps))
  app.get('/domains/:id', { onRequest, schema: schema.get }, request => get(request, deps))
  app.post('/domains/:id/verify', { onRequest, schema: schema.verify }, request => verify(request, deps))
  app.delete('/domains/:id', { onRequest, schema: schema.remove }, request => remove(request, deps))
}

async function create(request: FastifyRequest, reply: FastifyReply, deps: ResendRouteDeps) {
  const { domains, region } = deps
  const { name, region: wanted } = request.body as z.output<typeof newDomainBody>
  if (wanted !== undefined && wanted !== region)
    throw invalidField('region', `must be ${region}, where the gateway sends`, 'INVALID_VALUE')
  const { companyId } = liveOwner(request)
  await boundCalls(companyId, deps)
  const claim = { companyId, domain: name, vouched: false }
  const added = await asking(request, () => addDomain(domains, claim, authorOf(request)))
  if (added.kind === 'taken') throw new Problem('DOMAIN_TAKEN')
  if (added.kind === 'too-many') throw new Problem('DOMAIN_LIMIT_REACHED')
  return reply.code(201).send(viewOf(added.state, region))
}

async function list(request: FastifyRequest, { db, region }: ResendRouteDeps) {
  const rows = await listDomains(db.pool, liveOwner(request).companyId)
  return pageOf(
    rows.map(row => toResendDomain(row, region)),
    request.query as PageQuery,
  )
}

/** The SDK has no event for a verified domain: callers repeat `get` until it is. So it checks, as `verify` does. */
async function get(request: FastifyRequest, deps: ResendRouteDeps) {
  return { object: 'domain', ...viewOf(await check(request, deps), deps.region) }
}

async function verify(request: FastifyRequest, deps: ResendRouteDeps) {
  const { row } = await check(request, deps)
  return { object: 'domain', id: row.domainId }
}

async function check(request: FastifyRequest, deps: ResendRouteDeps): Promise<DomainState> {
  const row = await findOwn(request, deps)
  await boundCalls(row.companyId, deps)
  const checked = await asking(request, () => checkDomain(deps.domains, row, authorOf(request)))
  if (checked.kind === 'taken') throw new Problem('DOMAIN_TAKEN')
  if (checked.kind === 'gone') throw notFound()
  return checked.state
}

async function remove(request: FastifyRequest, deps: ResendRouteDeps) {
  const row = await findOwn(request, deps)
  const removed = await asking(request, () => removeDomain(deps.domains, row, authorOf(request)))
  if (removed.kind === 'default-sender') throw new Problem('DOMAIN_IN_USE')
  return { object: 'domain', id: row.domainId, deleted: true }
}

async function findOwn(request: FastifyRequest, { db }: ResendRouteDeps): Promise<DomainRow> {
  const { id } = request.params as z.output<typeof idParams>
  const { companyId } = liveOwner(request)
  // By its id only, as at Resend.
  const row = isUuid(id) ? await findDomain(db.pool, companyId, id) : null
  if (!row) throw notFound()
  return row
}

const notFound = () => new Problem('NOT_FOUND', { detail: 'Domain not found' })

/** Domains are live data: a test key must not create any at the provider. */
function liveOwner(request: FastifyRequest) {
  const owner = ownerOf(request)
  if (!owner.test) return owner
  throw new Problem('INSUFFICIENT_SCOPE', { detail: 'Sender domains are live data; use a live key.' })
}

/** Removing needs no bound: what is removed had to be added. */
async function boundCalls(companyId: string, { db }: ResendRouteDeps): Promise<void> {
  const { calls, retryAfterSeconds } = await countDomainCall(db.pool, companyId, CALLS_PER_MINUTE)
  if (calls <= CALLS_PER_MINUTE) return
  throw new Problem('RATE_LIMITED', {
    detail: `This company may add and check its sender domains ${CALLS_PER_MINUTE} times a minute; try again in ${retryAfterSeconds} s.`,
    headers: { 'retry-after': String(retryAfterSeconds) },
  })
}

/** What the provider says about its account is for the operator, not for a company. */
async function asking<T>(request: FastifyRequest, act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (!(error instanceof AwsCallFailed) && !(error instanceof ProviderDomainsFailed)) throw error
    request.log.error({ err: error }, 'The provider could not be asked about a sender domain')
    throw new Problem('PROVIDER_NOT_ASKED', { headers: { 'retry-after': '30' } })
  }
}

const viewOf = ({ row, records }: DomainState, region: string) => ({
  ...toResendDomain(row, region),
  records: records.map(toResendRecord),
})
