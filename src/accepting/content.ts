import type { FieldProblem, Refusal } from '../contracts/refusal.ts'
import { summarise } from '../contracts/refusal.ts'
import type { SendBody } from '../contracts/send-body.ts'
import type { RenderedTemplate } from '../contracts/templates/render.ts'
import type { Caller } from './caller.ts'

/** A body whose template, if it names one, has been rendered. */
export type BodyWithContent = SendBody & { subject: string; templateVersion?: number }

export type RenderTemplate = (
  choice: { companyId: string; type: string; locale: string | null },
  variables: Record<string, unknown>,
) => Promise<
  | ({ kind: 'rendered'; version: number } & RenderedTemplate)
  | { kind: 'refused'; problems: FieldProblem[] }
  | { kind: 'not-found' }
>

export type ContentResult = { ok: true; body: BodyWithContent } | { ok: false; refusal: Refusal }

/** The caller learns at once what is wrong with a template or its variables. A subject in the body wins over the template's. */
export async function renderBody(
  body: SendBody,
  { companyId }: Caller,
  render: RenderTemplate,
): Promise<ContentResult> {
  const { template: type, locale = null, variables = {} } = body
  // The schema has seen to it that there is a subject without a template.
  if (type === undefined) return { ok: true, body: { ...body, subject: body.subject! } }
  const result = await render({ companyId, type, locale }, variables)
  if (result.kind === 'not-found') return { ok: false, refusal: templateNotFound(type) }
  if (result.kind === 'refused') return { ok: false, refusal: summarise(result.problems) }
  const { version, subject, html, text } = result
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
  const message = `there is no published template ${type}; GET /v1/templates lists them`
  return { code: 'TEMPLATE_NOT_FOUND', errors: [{ path: 'template', code: 'TEMPLATE_NOT_FOUND', message }] }
}
