import { z } from 'zod'
import { firstCharacters } from '../contracts/characters.ts'
import { fieldProblems } from '../contracts/field-problems.ts'
import { summarise } from '../contracts/refusal.ts'
import { SEND_LIMITS, type SendBody, sendBodySchema } from '../contracts/send-body.ts'
import { parseTemplate, type TemplateSource } from '../contracts/templates/parse.ts'
import { renderTemplate } from '../contracts/templates/render.ts'
import { previewSchema } from '../contracts/templates/view.ts'
import { refusalProblem } from './problem.ts'

/** Before the subject of a test send. */
export const TEST_MARK = '[Test] '

export const testTemplateSchema = previewSchema
  .extend({ to: z.string().max(320), from: z.string().max(320).optional() })
  .meta({
    id: 'TestTemplate',
    example: { to: 'you@example.com', variables: { user: { name: 'Maria' }, order: { number: '1042' } } },
  })

export type RenderedSource = TemplateSource & { variables: string[] }

export function renderSource(source: TemplateSource, variables: Record<string, unknown>): RenderedSource {
  const parsed = parseTemplate(source)
  if (!parsed.ok) throw refusalProblem(summarise(parsed.problems))
  const result = renderTemplate(parsed.template, variables)
  if (!result.ok) throw refusalProblem(summarise(result.problems))
  const { subject, html, text } = result
  return { subject, html, text, variables: parsed.template.variables }
}

/** An ordinary e-mail with what was rendered. It has no template type, so it is not part of the statistics. */
export function testEmail(
  { subject, html, text }: TemplateSource,
  { to, from }: { to: string; from?: string | undefined },
): SendBody {
  const body = sendBodySchema.safeParse({
    to,
    ...(from !== undefined && { from }),
    subject: firstCharacters(TEST_MARK + subject, SEND_LIMITS.SUBJECT_CHARS),
    ...(html !== null && { html }),
    ...(text !== null && { text }),
    tags: ['template-test'],
  })
  if (!body.success) throw refusalProblem(summarise(fieldProblems(body.error.issues)))
  return body.data
}
