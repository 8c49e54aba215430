import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import {
  companyChangeSchema,
  companySettingsSchema,
  companyWithKeySchema,
  newCompanySchema,
  parseDefaultFrom,
} from '../contracts/companies/settings.ts'
import { addCompany, changeCompany } from '../db/companies/changes.ts'
import type { Company, CompanyChange } from '../db/companies/companies.ts'
import {
  ADMINISTRATORS,
  adminAuthor,
  adminBodyRefusals,
  adminDescription,
  adminRefusals,
  companyParams,
  knownCompany,
} from './admin-company.ts'
import type { App } from './app.ts'
import { invalidField, Problem } from './problem.ts'
import type { AdminRouteDeps } from './routes-admin.ts'

export type AdminKeyDeps = AdminRouteDeps & { pepper: string }

const createSchema = {
  summary: 'Create a company and its first API key, which is shown once',
  ...adminDescription,
  body: newCompanySchema,
  response: { 201: companyWithKeySchema, ...adminRefusals, ...adminBodyRefusals },
}
const showSchema = {
  summary: 'The settings of one company',
  ...adminDescription,
  params: companyParams,
  response: { 200: companySettingsSchema, ...adminRefusals },
}
const changeSchema = {
  summary: 'Change the given settings of a company and no others',
  ...adminDescription,
  params: companyParams,
  body: companyChangeSchema,
  response: { 200: companySettingsSchema, ...adminRefusals, ...adminBodyRefusals },
}

export function adminCompanyChangeRoutes(app: App, deps: AdminKeyDeps): void {
  const { onRequest } = deps
  const changing = { onRequest, config: ADMINISTRATORS }
  app.post('/admin/companies', { ...changing, schema: createSchema }, (request, reply) => create(request, reply, deps))
  app.get('/admin/companies/:companyId', { onRequest, schema: showSchema }, async request =>
    toSettings(await knownCompany(request, deps.db)),
  )
  app.patch('/admin/companies/:companyId', { ...changing, schema: changeSchema }, request => change(request, deps))
}

async function create(request: FastifyRequest, reply: FastifyReply, { db, pepper }: AdminKeyDeps) {
  const { reason: _, ...wanted } = request.body as z.output<typeof newCompanySchema>
  const settings = withSender(wanted, { fromDomains: [], defaultFrom: null })
  const added = await addCompany(db, pepper, { ...settings, name: wanted.name }, adminAuthor(request))
  if (!added) throw new Problem('COMPANY_EXISTS', { detail: `There is a company "${wanted.name}" already.` })
  const { company, keyId, apiKey } = added
  return reply
    .code(201)
    .header('location', `/admin/companies/${company.companyId}`)
    .send({ company: toSettings(company), keyId, apiKey })
}

async function change(request: FastifyRequest, { db }: AdminKeyDeps) {
  const company = await knownCompany(request, db)
  const { reason: _, isDefault, ...wanted } = request.body as z.output<typeof companyChangeSchema>
  const settings = { ...withSender(wanted, company), isDefault }
  const changed = await changeCompany(db.pool, company.companyId, settings, adminAuthor(request))
  if (!changed) throw new Problem('NOT_FOUND')
  return toSettings(changed)
}

type Wanted = { [Name in keyof CompanyChange]?: CompanyChange[Name] | undefined }

/** The default sender has to be of one of the domains, whichever of the two is changed. */
function withSender(wanted: Wanted, current: Pick<Company, 'fromDomains' | 'defaultFrom'>): CompanyChange {
  const { defaultFrom = current.defaultFrom, fromDomains = current.fromDomains } = wanted
  const change = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined)) as CompanyChange
  if (defaultFrom === null) return change
  const parsed = parseDefaultFrom(defaultFrom, fromDomains)
  if (!parsed.ok) throw invalidField('defaultFrom', parsed.problem, parsed.code)
  return wanted.defaultFrom === undefined ? change : { ...change, defaultFrom: parsed.value }
}

function toSettings(company: Company): z.output<typeof companySettingsSchema> {
  const { pausedAt, createdAt } = company
  return { ...company, pausedAt: pausedAt?.toISOString() ?? null, createdAt: createdAt.toISOString() }
}
