import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { markupOf, problemsOfMarkup } from '../contracts/templates/markup.ts'
import { parseTemplate, type TemplateSource } from '../contracts/templates/parse.ts'
import { usedVariables } from '../contracts/templates/used-variables.ts'
import type { TemplateView } from '../contracts/templates/view.ts'
import type { Database } from '../db/pool.ts'
import type { TemplateAuthor } from '../db/templates/changes.ts'
import { findTemplate, findVersion, listVersions, type Version } from '../db/templates/templates.ts'
import type { HtmlChecker } from '../sending/html-check.ts'
import { problemAnswers } from './openapi.ts'
import { uuidParam } from './params.ts'
import { invalidField, Problem } from './problem.ts'
import type { SendRouteDeps } from './routes-send.ts'

export type TemplateRouteDeps = SendRouteDeps & { db: Database }

export const showQuery = z.object({
  version: z.coerce.number().int().min(1).max(1_000_000).optional().describe('The newest when absent'),
})

export const templateRefusals = problemAnswers(400, 401, 403, 404, 503)
export const templateBodyRefusals = problemAnswers(413, 415, 422)

/** 404 also for a template of another company, so that an answer does not reveal that it exists. */
export async function findReadable(request: FastifyRequest, db: Database): Promise<TemplateView> {
  const template = await findTemplate(db.pool, request.key!.companyId, uuidParam(request, 'id'))
  if (!template) throw new Problem('NOT_FOUND')
  return template
}

export async function findChangeable(request: FastifyRequest, db: Database): Promise<TemplateView> {
  const template = await findReadable(request, db)
  refuseStarter(template)
  return template
}

/** A starter belongs to everybody. */
export function refuseStarter({ starter, type }: TemplateView): void {
  if (!starter) return
  throw new Problem('TEMPLATE_IS_STARTER', {
    detail: `Create your own template with the type ${type}: it replaces the starters of this type.`,
  })
}

/** Live and test mail share templates, so a test key may use them and not change them. */
export function authorOf({ key }: FastifyRequest): TemplateAuthor {
  const { keyId, companyId, mode } = key!
  if (mode === 'test')
    throw new Problem('INSUFFICIENT_SCOPE', { detail: 'Live and test e-mails share templates: a live key is needed.' })
  return { companyId, performedBy: `key ${keyId}` }
}

/** With the content of one version: this one, or the newest. */
export async function withVersions(template: TemplateView, db: Database, number: number | null = null) {
  const version = await requireVersion(template, db, number)
  const variables = [version.subject, version.html ?? '', version.text ?? ''].flatMap(usedVariables)
  return {
    ...template,
    version: { ...version, variables: [...new Set(variables)].sort() },
    versions: await listVersions(db.pool, template.id),
  }
}

export async function requireVersion({ id }: TemplateView, db: Database, number: number | null): Promise<Version> {
  const version = await findVersion(db.pool, id, number)
  if (!version) throw invalidField('version', 'is not a version of this template', 'INVALID_VALUE')
  return version
}

export async function refuseUnusable(source: TemplateSource, companyId: string, html: HtmlChecker): Promise<void> {
  const parsed = parseTemplate(source)
  if (!parsed.ok) throw new Problem('INVALID_TEMPLATE', { errors: parsed.problems })
  if (source.html === null) return
  const errors = problemsOfMarkup(await html.check(markupOf(source.html), companyId))
  if (errors.length > 0) throw new Problem('INVALID_TEMPLATE', { errors })
}
