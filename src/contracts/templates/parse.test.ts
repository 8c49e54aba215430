import { describe, expect, test } from 'vitest'
import { parseTemplate } from './parse.ts'

const parseHtml = (html: string) => parseTemplate({ subject: 'Hello', html, text: null })
const problemOf = (html: string) => {
  const startMs = performance.now()
  const result = parseHtml(html)
  expect(performance.now() - startMs).toBeLessThan(500)
  if (result.ok) throw new Error('was parsed')
  expect(result.problems).toHaveLength(1)
  expect(result.problems[0]).toMatchObject({ path: 'html', code: 'INVALID_TEMPLATE' })
  return result.problems[0]!.message
}

describe('refused when it is written', () => {
  test.each([
    ['an unclosed output', 'Hello {{ name', 'not closed'],
    ['an unclosed section', '{% if name %}Hello', 'not closed'],
    ['an end without a beginning', '{% endif %}', 'not found'],
    ['an unknown tag', '{% launch %}', 'tag "launch" not found'],
    ['a tag that loads files', '{% include "/etc/passwd" %}', 'tag "include" not found'],
    ['another one', '{% render "x" %}', 'tag "render" not found'],
    ['an unknown filter', '{{ name | shout }}', 'undefined filter: shout'],
    ['a filter that would not escape', '{{ name | raw }}', 'undefined filter: raw'],
    ['a filter named like a part of every object', '{{ name | constructor }}', 'undefined filter: constructor'],
    ['an output that is no expression', '{{{NAME}}}', 'invalid value'],
    ['an empty part', '', 'must not be empty'],
    ['a part over 512 KB', 'é'.repeat(262_145), 'larger than'],
    ['too many tags', '{{ x }}'.repeat(2_001), 'more than 2000 tags'],
    ['a tag that is too long', `{% if ${'a == b and '.repeat(100)} c %}{% endif %}`, 'longer than'],
    ['tags that are too long together', `{{ ${'a.'.repeat(300)}b }}`.repeat(200), 'all tags'],
    ['sections that are too deep', '{% if a %}'.repeat(50_000), 'deeper than'],
    ['very many braces', '{'.repeat(500_000), 'not closed'],
    ['very many unclosed comments', '{% comment %}'.repeat(1_999), 'not closed'],
    ['very many wrong tags in a large text', `{{ x | no }}\n${'z'.repeat(200)}`.repeat(1_999), 'undefined filter'],
  ])('%s', (_, html, words) => {
    expect(problemOf(html)).toContain(words)
  })

  test('neither HTML nor text', () => {
    expect(parseTemplate({ subject: 'Hello', html: null, text: null })).toMatchObject({ ok: false })
  })

  test('every part is named', () => {
    const result = parseTemplate({ subject: '{{', html: '{% if %}', text: '{{ a | no }}' })
    expect(!result.ok && result.problems.map(({ path }) => path)).toEqual(['subject', 'html', 'text'])
  })
})

describe('the variables that a template uses', () => {
  const used = (html: string) => {
    const result = parseHtml(html)
    return result.ok && result.template.variables
  }

  test('are listed with their paths, once', () => {
    expect(
      used('{{ user.name }}{{ user.name }}{{ a | default: b | append: "c.d" }}{% if e == 1 and f.g %}{% endif %}'),
    ).toEqual(['a', 'b', 'e', 'f.g', 'user.name'])
  })

  test('are not those that it makes itself, nor words in texts, comments and raw sections', () => {
    const html =
      '{% for item in order.items limit: 3 %}{{ item.name }}{{ forloop.index }}{% endfor %}{% assign x = y %}{{ x }}{{ "z" }}{% comment %}{{ p }}{% endcomment %}{% raw %}{{ q }}{% endraw %}{% # r %}'
    expect(used(html)).toEqual(['order.items', 'y'])
  })
})
