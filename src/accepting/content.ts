import { type Refusal, summarise } from '../contracts/refusal.ts'
import type { SendBody } from '../contracts/send-body.ts'
import type { ParseResult } from '../contracts/templates/parse.ts'
import { renderTemplate } from '../contracts/templates/render.ts'
import type { TemplateChoice } from '../db/templates/published.ts'
import type { Caller } from './caller.ts'

/** A body whose template, if it names one, has been rendered. */
export type BodyWithContent = SendBody & { subject: string; templateVersion?: number }

/** The version in use; null: none is published. */
export type FindTemplate = (choice: TemplateChoice) => Promise<{ version: number; parsed: ParseResult } | null>

/** The templates that the bodies of a request name, each looked up once. */
export type FoundTemplates = Map<string, Awaited<ReturnType<FindTemplate>>>

export async function findTemplates(
  bodies: SendBody[],
  { companyId }: Caller,
  find: FindTemplate,
): Promise<FoundTemplates> {
  const named = new Map(bodies.filter(body => body.template !== undefined).map(body => [keyOf(body), body]))
  const found = [...named].map(async ([key, { template, locale = null }]) => {
    return [key, await find({ companyId, type: template!, locale })] as const
  })
  return new Map(await Promise.all(found))
}

const keyOf = ({ template, locale }: SendBody) => `${template} ${locale}`

export type ContentResult = { ok: true; body: BodyWithContent } | { ok: false; refusal: Refusal }

/** The caller learns at once what is wrong with a template or its variables. A subject in the body wins over the template's. */
export function renderBody(body: SendBody, templates: FoundTemplates): ContentResult {
  // The schema has seen to it that there is a subject without a template.
  if (body.template === undefined) return { ok: true, body: body as BodyWithContent }
  const found = templates.get(keyOf(body))
  if (!found) return { ok: false, refusal: templateNotFound(body.template) }
  const { version, parsed } = found
  const result = parsed.ok ? renderTemplate(parsed.template, body.variables ?? {}) : parsed
  if (!result.ok) return { ok: false, refusal: summarise(result.problems) }
  const { subject, html, text } = result
  return {
    ok: true,
    body: {
      ...body,
      subject: body.subject ?? subject,
      templateVersion: version,
      ...(html !== null && { html }),
      ...(text !== null && { text }),
    },
  }
}

function templateNotFound(type: string): Refusal {
  const message = `there is no published template ${type} (a draft has to be published first); GET /v1/templates lists them`
  return { code: 'TEMPLATE_NOT_FOUND', errors: [{ path: 'template', code: 'TEMPLATE_NOT_FOUND', message }] }
}
