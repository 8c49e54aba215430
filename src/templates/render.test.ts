import fc from 'fast-check'
import { parseFragment } from 'parse5'
import { describe, expect, test } from 'vitest'
import { bestMs } from '../../test/support/growth.ts'
import { parseTemplate, type TemplateSource } from './parse.ts'
import { renderTemplate } from './render.ts'

const render = (source: Partial<TemplateSource>, variables: Record<string, unknown> = {}) => {
  const parsed = parseTemplate({ subject: 'Hello', html: null, text: null, ...source })
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems))
  return renderTemplate(parsed.template, variables)
}
const html = (written: string, variables?: Record<string, unknown>) => {
  const result = render({ html: written }, variables)
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.html
}
const problems = (written: string, variables?: Record<string, unknown>) => {
  const result = render({ html: written }, variables)
  if (result.ok) throw new Error(result.html!)
  return result.problems
}
const missing = (written: string, variables?: Record<string, unknown>) =>
  problems(written, variables).map(problem => {
    expect(problem.code).toBe('TEMPLATE_VARIABLE_MISSING')
    return problem.path
  })

describe('what a template can say', () => {
  test('nested variables, sections, loops and defaults', () => {
    const written =
      '<p>{{ user.name }} ({{ user.plan | default: "free" }}){% if vip %} VIP{% endif %}{% for item in items %} {{ forloop.index }}:{{ item.name }}{% endfor %}</p>'
    const variables = { user: { name: 'Ana' }, items: [{ name: 'pen' }, { name: 'ink' }] }
    expect(html(written, variables)).toBe('<p>Ana (free) 1:pen 2:ink</p>')
  })

  test('values are escaped in HTML, and not in the subject and the text part', () => {
    const result = render(
      { subject: 'Hi {{ name }}', html: '<p title="{{ name }}">', text: '{{ name }}' },
      { name: `<b>"Tom" & 'Ana'` },
    )
    expect(result).toEqual({
      ok: true,
      subject: `Hi <b>"Tom" & 'Ana'`,
      html: '<p title="&lt;b&gt;&#34;Tom&#34; &amp; &#39;Ana&#39;">',
      text: `<b>"Tom" & 'Ana'`,
    })
  })

  test('no value becomes markup', () => {
    const written = `<div title="{{ v }}" id='{{ v }}'>{{ v }}{{ v | upcase | append: v }}</div>`
    const parsed = parseTemplate({ subject: 'Hello', html: written, text: null })
    if (!parsed.ok) throw new Error('was refused')
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('<script>', `"'><img src=x>`)), v => {
        const result = renderTemplate(parsed.template, { v })
        const { childNodes } = parseFragment(result.ok ? result.html! : '')
        const [div] = childNodes as unknown as [{ attrs: { name: string }[]; childNodes: { nodeName: string }[] }]
        return (
          childNodes.length === 1 &&
          div.attrs.map(({ name }) => name).join() === 'title,id' &&
          div.childNodes.every(({ nodeName }) => nodeName === '#text')
        )
      }),
    )
  })
})

describe('missing variables', () => {
  test('all of them are named in one answer', () => {
    const result = render(
      { subject: '{{ a }}', html: '{{ user.name }} {{ b.c.d }}', text: '{{ a }}{{ e }}' },
      { user: {} },
    )
    expect(result.ok === false && result.problems.map(({ path }) => path)).toEqual(
      ['a', 'user.name', 'b.c.d', 'e'].map(name => `variables.${name}`),
    )
  })

  test('null counts as missing', () => {
    expect(missing('{{ user.name }}', { user: { name: null } })).toEqual(['variables.user.name'])
    expect(missing('{{ user.name }}', { user: null })).toEqual(['variables.user.name'])
    expect(html('{{ user.name | default: "friend" }}', { user: { name: null } })).toBe('friend')
  })

  test('the field of a list entry is named, and the list is where to look', () => {
    const [problem] = problems('{% for item in items %}{{ item.price }}{% endfor %}', { items: [{}] })
    expect(problem).toMatchObject({
      path: 'variables',
      message: expect.stringContaining('item.price is missing'),
      name: 'item.price',
    })
  })

  test('an object in place of a text is refused', () => {
    expect(problems('{{ user }}', { user: { name: 'Ana' } })).toMatchObject([
      { path: 'html', code: 'INVALID_TEMPLATE', message: expect.stringContaining('not a text'), rule: 'NOT_A_TEXT' },
    ])
    expect(problems('{{ user | upcase }}', { user: { name: 'Ana' } })).toMatchObject([{ rule: 'NOT_A_TEXT', line: 1 }])
  })

  test('nothing that JavaScript puts into every object exists', () => {
    const names = ['constructor', 'toString', '__proto__', 'hasOwnProperty', 'a.constructor', 'a.toString', 'list.map']
    for (const name of names) {
      expect(missing(`{{ ${name} }}`, { a: { b: 1 }, list: [] })).toEqual([`variables.${name}`])
    }
    expect(missing('{{ a["constructor"]["constructor"] }}', { a: 'text' })).toHaveLength(1)
  })
})

describe('the result', () => {
  test.each([
    ['has a line break', 'a\r\nBcc: b@example.com', 'line breaks'],
    ['is too long', 'x'.repeat(151), 'more than 150'],
    ['is empty', ' ', 'is empty'],
  ])('a subject that %s is refused', (_, name, words) => {
    const result = render({ subject: '{{ name }}', text: 'x' }, { name })
    expect(result).toMatchObject({
      ok: false,
      problems: [{ path: 'subject', message: expect.stringContaining(words) }],
    })
  })

  test.each(['html', 'text'])('%s that is blank is refused', part => {
    const result = render({ subject: 'Hi', [part]: ' {{ name }}\n' }, { name: ' ' })
    expect(result).toMatchObject({
      ok: false,
      problems: [{ path: part, message: `the rendered ${part} is empty`, rule: 'RENDERED_EMPTY' }],
    })
  })

  test('a subject that is too long has its limit as data, too', () => {
    const result = render({ subject: '{{ name }}', text: 'x' }, { name: 'x'.repeat(200) })
    expect(result).toMatchObject({ ok: false, problems: [{ path: 'subject', limit: 150, unit: 'characters' }] })
  })

  test('an emoji in the subject is one character', () => {
    const subjectOf = (emoji: number) => render({ subject: '{{ name }}', text: 'x' }, { name: '😀'.repeat(emoji) })
    expect(subjectOf(150)).toMatchObject({ ok: true })
    expect(subjectOf(151)).toMatchObject({ ok: false, problems: [{ path: 'subject', limit: 150 }] })
  })

  test('a number that JavaScript cannot hold is refused, not sent as "Infinity"', () => {
    const variables = JSON.parse('{"order": {"totals": [1, 1e131000]}}')
    expect(render({ html: '{{ order.totals[1] }}' }, variables)).toMatchObject({
      ok: false,
      problems: [{ path: 'variables', message: expect.stringMatching(/number that is too large/) }],
    })
  })

  test('more than 512 KB are refused', () => {
    const written = `{% for i in (1..9) %}{{ text }}{% endfor %}`
    expect(problems(written, { text: 'é'.repeat(30_000) })).toMatchObject([{ path: 'html' }])
  })
})

describe('hostile templates and variables end soon', () => {
  const long = 'y'.repeat(60_000)
  const hostile: [string, string, Record<string, unknown>][] = [
    ['three loops over ranges', loops('(1..1000)', 3), {}],
    ['three loops over a list', loops('list', 3), { list: Array(30_000).fill(1) }],
    ['an endless range', '{% for a in (1..1000000000) %}x{% endfor %}', {}],
    ['a range without end', '{% for a in (1..n) %}x{% endfor %}', { n: Number.POSITIVE_INFINITY }],
    ['a large text in a loop', `{% for a in (1..1000) %}${'z'.repeat(500_000)}{% endfor %}`, {}],
    ['doubling', `{% assign a = "xxxxxxxxxx" %}${'{% assign a = a | append: a %}'.repeat(40)}{{ a }}`, {}],
    ['a large value many times', '{{ long }}'.repeat(1_999), { long }],
    ['many missing variables in a large text', `{{ none }}\n${'z'.repeat(200)}`.repeat(1_999), {}],
    ['many searches', '{% if a contains b %}{% endif %}'.repeat(900), { a: long, b: `z${'y'.repeat(99)}` }],
    ['a long searched text', '{% if a contains b %}{% endif %}', { a: long.slice(9_000), b: long.slice(50_000) }],
    ['encoding again and again', `{{ long ${'| url_encode '.repeat(70)} }}`, { long: 'é'.repeat(30_000) }],
    [
      'comparing long texts',
      '{% if a == b %}{% endif %}'.repeat(999),
      { a: long.slice(30_000), b: long.slice(30_000) },
    ],
    ['comparing lists', '{% if a == b %}{% endif %}', { a: [[1]], b: [[1]] }],
    ['many filters', `{{ long ${'| upcase '.repeat(90)} }}`.repeat(20), { long }],
    ['variables that are too large', '{{ a }}', { a: 'x'.repeat(70_000) }],
    ['variables that are too deep', 'x', deep(5_000)],
  ]
  test.each(hostile)('%s', (_, written, variables) => {
    const takenMs = bestMs(() => expect(render({ html: written }, variables).ok).toBe(false), 3)
    // Takes less than 100 ms on an idle machine.
    expect(takenMs).toBeLessThan(500)
  })

  function loops(list: string, times: number): string {
    return `${`{% for a in ${list} %}`.repeat(times)}x${'{% endfor %}'.repeat(times)}`
  }

  function deep(levels: number): Record<string, unknown> {
    return levels === 0 ? {} : { a: deep(levels - 1) }
  }
})
