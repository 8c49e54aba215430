import type { FastifyRequest } from 'fastify'
import type { Database } from '../db/pool.ts'
import { type FoundTemplate, findAnyTemplate } from '../db/templates/overview.ts'
import { uuidParam } from './params.ts'
import { Problem } from './problem.ts'
import { refuseStarter } from './template-access.ts'

/** Of any company, or a starter. */
export async function findAdminTemplate(request: FastifyRequest, db: Database): Promise<FoundTemplate> {
  const template = await findAnyTemplate(db.pool, uuidParam(request, 'templateId'))
  if (!template) throw new Problem('NOT_FOUND', { detail: 'There is no such template.' })
  return template
}

/** One that belongs to a company. */
export async function changeableTemplate(request: FastifyRequest, db: Database) {
  const template = await findAdminTemplate(request, db)
  refuseStarter(template)
  return { ...template, companyId: template.companyId! }
}
