import { expect, test } from 'vitest'
import { parseTemplate } from '../../templates/parse.ts'
import { renderTemplate } from '../../templates/render.ts'
import {
  problemsOfTemplate,
  problemsOfVariables,
  type ResendVariable,
  resendTemplateSchema,
  translateTemplate,
} from './stored-templates.ts'

const variable = (key: string, fallback_value: string | number | null = null): ResendVariable => ({
  key,
  type: typeof fallback_value === 'number' ? 'number' : 'string',
  fallback_value,
})

function render(html: string, values: Record<string, unknown> = {}, variables: ResendVariable[] = []) {
  const written = { subject: 'Hi {{{NAME}}}', html, text: null, variables: [...variables, variable('NAME', 'you')] }
  expect(problemsOfTemplate(written)).toEqual([])
  const parsed = parseTemplate(translateTemplate(written))
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems))
  return renderTemplate(parsed.template, values)
}

test('variables get their values, escaped in HTML, or their fallbacks', () => {
  const html = '<p>{{{NAME}}} {{{ COUNT }}} {{{B}}}</p>'
  const variables = [variable('COUNT', 3), variable('B')]
  expect(render(html, { NAME: '<b>Ana', B: 1 }, variables)).toMatchObject({
    ok: true,
    subject: 'Hi <b>Ana',
    html: '<p>&lt;b&gt;Ana 3 1</p>',
  })
})

test.each([`it's "quoted" \\ {{ x }} {% raw %} }} %}`, 'Olá\nação ✓ 🎉', '', '\\u007b'])(
  'the fallback %j stays what it is',
  fallback => {
    const result = render('x', {}, [])
    expect(result.ok).toBe(true)
    const variables = [variable('A', fallback)]
    const text = 'before {{{A}}} after'
    const source = translateTemplate({ subject: 's', html: 'x', text, variables })
    const parsed = parseTemplate(source)
    const rendered = parsed.ok && renderTemplate(parsed.template, {})
    expect(rendered).toMatchObject({ ok: true, text: `before ${fallback} after` })
  },
)

test.each(['{{ NAME }}', '{% if a %}', '{{{{', 'a{b{c', '{% endraw %}', '{{ "x" }}{%- -%}'])(
  'other braces such as %s are plain text',
  braces => {
    if (braces.includes('{{{')) {
      expect(problemsOfTemplate({ subject: 's', html: braces })).toMatchObject([{ path: 'html' }])
      return
    }
    expect(render(`<p>${braces}</p>`)).toMatchObject({ ok: true, html: `<p>${braces}</p>` })
  },
)

test.each(['{{{}}}', '{{{a b}}}', '{{{1A}}}', '{{{user.name}}}', '{{{true}}}', '{{{A}}'])('%s is refused', html => {
  expect(problemsOfTemplate({ subject: 's', html })).toMatchObject([{ path: 'html', code: 'INVALID_TEMPLATE' }])
})

test('a variable without value and fallback is missing, and the answer names it', () => {
  expect(render('{{{A}}}{{{B}}}', { B: 1 })).toMatchObject({ ok: false, problems: [{ path: 'variables.A' }] })
})

test('values have the declared type, and so have fallbacks', () => {
  const declared = [variable('COUNT', 3), variable('A')]
  expect(problemsOfVariables({ COUNT: 1, A: 'x', OTHER: 'y' }, declared)).toEqual([])
  expect(problemsOfVariables({ COUNT: 1, A: 'x', OTHER: true }, declared)).toMatchObject([
    { path: 'template.variables.OTHER', message: 'must be a string or a number' },
  ])
  expect(problemsOfVariables({ COUNT: '1', A: 2 }, declared).map(({ path }) => path)).toEqual([
    'template.variables.COUNT',
    'template.variables.A',
  ])
  const template = { name: 'n', subject: 's', html: 'x' }
  const wrong = { key: 'A', type: 'number', fallback_value: 'x' }
  expect(resendTemplateSchema.safeParse({ ...template, variables: [wrong] }).success).toBe(false)
  expect(resendTemplateSchema.safeParse({ ...template, variables: [{ ...wrong, fallback_value: 1 }] }).success).toBe(
    true,
  )
})
