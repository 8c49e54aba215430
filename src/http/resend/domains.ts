import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { domainAnswers, newDomainBody, toResendDomain, toResendRecord } from '../../contracts/resend/domain-view.ts'
import { isUuid } from '../../contracts/uuid.ts'
import { countDomainCall } from '../../db/companies/domain-calls.ts'
import { type DomainRow, findDomain, listDomains } from '../../db/companies/domains.ts'
import { addDomain, checkDomain, type DomainDeps, type DomainState, removeDomain } from '../../domains/domains.ts'
import { AwsCallFailed } from '../../providers/aws/call.ts'
import { ProviderDomainsFailed } from '../../providers/domains/domains.ts'
import type { App } from '../app.ts'
import { authorOf, ownerOf, requireKey } from '../auth.ts'
import { invalidField, Problem } from '../problem.ts'
import { described, idParams } from './describe.ts'
import { resendRefusals } from './errors.ts'
import type { ResendRouteDeps } from './index.ts'
import { type PageQuery, pageOf, pageQuery } from './paging.ts'

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
    rows.map(row => toResendDomain(factsOf(row, region))),
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

const factsOf = ({ domainId, domain, allowed, createdAt }: DomainRow, region: string) => ({
  id: domainId,
  name: domain,
  allowed,
  createdAt,
  region,
})

const viewOf = ({ row, records }: DomainState, region: string) => ({
  ...toResendDomain(factsOf(row, region)),
  records: records.map(toResendRecord),
})
