import { describe, expect, test } from 'vitest'
import { bestMs, expectLinearTime } from '../../test/support/growth.ts'
import { markupOf, usedVariables } from './markup.ts'
import { parseTemplate } from './parse.ts'

const parseHtml = (html: string) => parseTemplate({ subject: 'Hello', html, text: null })
const problemOf = (html: string) => {
  expect(bestMs(() => parseHtml(html), 2)).toBeLessThan(500)
  const result = parseHtml(html)
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
    ['very many braces', '{'.repeat(500_000), 'more than 2000 tags'],
    [
      'too many tags behind an opening in a raw section',
      `{% raw %}{{{% endraw %}${'{% if a %}{% endif %}'.repeat(24_000)}x`,
      'more than 2000 tags',
    ],
    [
      'sections that are too deep behind an opening in a raw section, and with much space',
      `{% raw %}{{{% endraw %}${`{%${' '.repeat(30)}if a %}`.repeat(500)}`,
      'deeper than',
    ],
    ['very many unclosed comments', '{% comment %}'.repeat(1_999), 'not closed'],
    ['very many wrong tags in a large text', `{{ x | no }}\n${'z'.repeat(200)}`.repeat(1_999), 'undefined filter'],
  ])('%s', (_, html, words) => {
    expect(problemOf(html)).toContain(words)
  })

  test.each([
    ['<p>\n{% launch %}', { rule: 'UNKNOWN_TAG', name: 'launch', line: 2, column: 1 }],
    ['{% if a %}{% endfor %}', { rule: 'TAG_WITHOUT_BEGINNING', name: 'endfor', line: 1, column: 11 }],
    ['{{ name | shout }}', { rule: 'UNKNOWN_FILTER', name: 'shout' }],
    ['{% if name %}Hello', { rule: 'NOT_CLOSED', name: '{% if name %}' }],
    ['Hello {{ name', { rule: 'NOT_CLOSED', name: '{{ name' }],
    ['{% for x of y %}{% endfor %}', { rule: 'INVALID_TAG', name: '{% for x of y %}' }],
    ['{% assign x %}', { rule: 'INVALID_TAG' }],
    ['{{{NAME}}}', { rule: 'INVALID_EXPRESSION', line: 1, column: 3 }],
    ['{{ a | default "x" }}', { rule: 'INVALID_EXPRESSION' }],
    ['', { rule: 'EMPTY' }],
    ['{{ x }}'.repeat(2_001), { rule: 'TOO_MANY_TAGS', limit: 2_000 }],
    ['é'.repeat(262_145), { limit: 512 * 1024, unit: 'bytes' }],
  ])(
    '%.30s names its rule, what it is about and where, for programs that write their own sentence',
    (html, expected) => {
      const result = parseHtml(html)
      expect(!result.ok && result.problems[0]).toMatchObject(expected)
    },
  )

  test('neither HTML nor text', () => {
    expect(parseTemplate({ subject: 'Hello', html: null, text: null })).toMatchObject({ ok: false })
  })

  test('every part is named', () => {
    const result = parseTemplate({ subject: '{{', html: '{% if %}', text: '{{ a | no }}' })
    expect(!result.ok && result.problems.map(({ path }) => path)).toEqual(['subject', 'html', 'text'])
  })
})

test.each(['{{', '{%', '{{ "', '{% comment %}', '{% raw %}', `{%${' '.repeat(30)}`])(
  'a text of unclosed %s is read in one pass, parsed or not',
  opening => {
    const fill = (size: number) => opening.repeat(Math.floor(size / opening.length))
    expectLinearTime(fill, 512 * 1024, html => {
      usedVariables(html)
      markupOf(html)
    })
  },
)

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
