import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  countTags,
  type HtmlElement,
  HtmlLimitReached,
  type HtmlNode,
  type HtmlParent,
  MAX_ATTRIBUTES,
  MAX_DEPTH,
  parseHtml,
} from './parse.ts'
import { checkHtml } from './rules.ts'

const attributes = (count: number) => Array.from({ length: count }, (_, i) => `a${i}`).join(' ')
const OTHER_TREES = ['<div>', '<svg><g>', '<math><mi>', '<template>', '<table><td>', '<b>', '<select>']

function limitOf(html: string): string | null {
  try {
    parseHtml(html)
    return null
  } catch (error) {
    if (!(error instanceof HtmlLimitReached)) throw error
    return error.limit
  }
}

describe('parsing ends', () => {
  test.each(['<div>', '<b>', '<svg>', '<svg><g>', '<math>', '<template>', '<table><td>', '<object>', '<x>'])(
    'when %s is nested too deeply',
    tags => {
      expect(limitOf(tags.repeat(MAX_DEPTH))).toBe('depth')
    },
  )

  test('when elements or comments are more than the tags explain', () => {
    const formatting = (kinds: number, paragraphs: number) =>
      `<p>${Array.from({ length: kinds }, (_, i) => `<b ${i.toString(36)}>`).join('')}${'<p>x'.repeat(paragraphs)}`
    expect(limitOf(formatting(3, 500))).toBeNull()
    expect(limitOf(formatting(230, 100))).toBe('nodes')
    expect(limitOf('<!---->'.repeat(100_001))).toBe('nodes')
  })

  test('when the attributes of formatting are copied too often', () => {
    expect(limitOf(`<p><b title="${'x'.repeat(10_000)}">${'<p>x'.repeat(5)}`)).toBeNull()
    expect(limitOf(`<p><b title="${'x'.repeat(10_000)}">${'<p>x'.repeat(30)}`)).toBe('nodes')
  })

  test.each([...OTHER_TREES, '<p>', '<html>', '<body>'])('when %s has too many attributes', tags => {
    const tag = tags.replace(/>$/, '')
    expect(limitOf(`<p>${tag} ${attributes(MAX_ATTRIBUTES)}>`)).toBeNull()
    expect(limitOf(`<p>${tag} ${attributes(MAX_ATTRIBUTES + 1)}>`)).toBe('nodes')
  })
})

test.each(['<td', '<form><form', '<select><i', '<frame', '<p><head', '<caption'])(
  'the rules refuse too many attributes also on %s, which creates no element',
  tag => {
    expect(checkHtml(`${tag} ${attributes(MAX_ATTRIBUTES + 1)}>`)).toContainEqual(
      expect.objectContaining({ code: 'HTML_TOO_COMPLEX' }),
    )
  },
)

test('a comment between the rows of a table counts once, also after text', () => {
  expect(limitOf(`<table>${'x<!---->'.repeat(3_000)}`)).toBeNull()
})

describe('whatever the HTML is', () => {
  const TAGS =
    'html head body svg g math mi annotation-xml foreignObject title style table tr td caption col form p b i font a nobr select option textarea noscript template div li br button frameset h1 ruby rt'
  const PIECES = [
    ...TAGS.split(' ').flatMap(tag => [`<${tag}>`, `</${tag}>`, `<${tag} class=x title=${'y'.repeat(200)}>`]),
    ...['x', ' ', '<!-- c -->', '<!--', '-->', '<![CDATA[', ']]>', '&amp;', '<!doctype html>'],
  ]
  const piece = fc.tuple(fc.constantFrom(...PIECES), fc.constantFrom(1, 1, 1, 1, 2, 5, 40))
  const html = fc.array(piece, { maxLength: 60 }).map(list => list.map(([text, times]) => text.repeat(times)).join(''))

  test('its tree is within the limits, or parsing ends', () => {
    const property = fc.property(html, source => {
      if (limitOf(source) !== null) return
      const nodes = nodesOf(parseHtml(source)).filter(node => 'tagName' in node || 'data' in node)
      expect(nodes.length).toBeLessThanOrEqual(1_000 + 8 * countTags(source))
      const copied = nodes.filter(isElement).flatMap(({ attrs }) => attrs.map(({ name, value }) => name + value))
      expect(copied.join('').length).toBeLessThanOrEqual(8 * 1024 + 8 * source.length)
    })
    fc.assert(property, { numRuns: 500 })
  }, 60_000)
})

const isElement = (node: HtmlNode): node is HtmlElement => 'tagName' in node

function nodesOf(root: HtmlParent): HtmlNode[] {
  const found: HtmlNode[] = []
  const open: HtmlParent[] = [root]
  for (let parent = open.pop(); parent !== undefined; parent = open.pop()) {
    for (const node of parent.childNodes) {
      found.push(node)
      if ('content' in node) open.push(node.content)
      if (isElement(node)) open.push(node)
    }
  }
  return found
}
