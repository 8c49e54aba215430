import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Author } from '../audit/audit.ts'
import { justificationSchema } from '../audit/justification.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { maskSensitive } from '../platform/text/masking.ts'
import { isUuid } from '../platform/text/uuid.ts'
import { type Principal, performedBy } from '../web/access.ts'
import { problemAnswers } from '../web/openapi.ts'
import { invalidField, Problem } from '../web/problem.ts'
import { type Company, findCompany } from './companies.ts'

export const adminDescription = { tags: ['Admin'], security: [{ administrator: [] }] }
export const adminRefusals = problemAnswers(401, 403, 404, 422, 429, 503)
export const adminBodyRefusals = problemAnswers(400, 409, 413, 415)

/** `config` of routes that change who may use the gateway, and how. */
export const ADMINISTRATORS = { role: 'administrator' } as const

/** `company` in the query of a route that answers for one company or for all. */
export const companyQuery = z
  .string()
  .min(1)
  .max(100)
  .refine(text => !text.includes('\0'), 'must not contain NUL')
  .optional()
  .describe('Id or name; every company when absent')

export const companyParams = z.object({ companyId: z.string().max(100) })

/** Optional, for the audit log. */
export const reasonSchema = justificationSchema.optional()
export const onlyReason = z.strictObject({ reason: reasonSchema }).meta({ id: 'ChangeReason', example: {} })

/** For the audit log. What a person typed may name somebody: it is stored masked. */
export const changeAuthor = (principal: Principal, reason: string | undefined): Author => ({
  performedBy: performedBy(principal),
  reason: reason === undefined ? null : maskSensitive(reason),
})

/** The id of the company that `companyQuery` names; null: of every company. */
export async function queriedCompany(db: Database, company: string | undefined): Promise<string | null> {
  if (company === undefined) return null
  const found = await findCompany(db.pool, company)
  if (!found) throw invalidField('company', 'there is no such company', 'INVALID_VALUE')
  return found.companyId
}

export async function knownCompany(request: FastifyRequest, db: Database): Promise<Company> {
  const { companyId } = request.params as z.output<typeof companyParams>
  return requireKnownCompany(db, companyId)
}

export async function requireKnownCompany(db: Database, companyId: string): Promise<Company> {
  const company = isUuid(companyId) ? await findCompany(db.pool, companyId.toLowerCase()) : null
  if (!company) throw new Problem('NOT_FOUND', { detail: 'There is no such company.' })
  return company
}
