import { describe, expect, test } from 'vitest'
import { expectLinearTime } from '../../test/support/growth.ts'
import { hasRemoteContent, previewHtml, previewPolicy } from './download.ts'

const logo = { contentId: 'logo@acme', contentType: 'image/png', base64: 'iVBORw0=' }

describe('inline images', () => {
  test.each([
    ['<img src="cid:logo@acme">', '<img src="data:image/png;base64,iVBORw0=">'],
    ["<img src='CID:logo%40acme'>", "<img src='data:image/png;base64,iVBORw0='>"],
    ['<td style="background:url(cid:logo@acme)">', '<td style="background:url(data:image/png;base64,iVBORw0=)">'],
    ['<img src="cid:other">', '<img src="cid:other">'],
    ['<img src="cid:%E0%A4%A">', '<img src="cid:%E0%A4%A">'],
  ])('%s', (html, expected) => {
    expect(previewHtml(html, [logo])).toBe(expected)
  })

  test('a small image is shown wherever the HTML names it', () => {
    const shown = previewHtml('<img src="cid:logo@acme">'.repeat(300), [logo])
    expect(shown).toBe('<img src="data:image/png;base64,iVBORw0=">'.repeat(300))
  })

  test('large images are all shown, and are not repeated for each reference', () => {
    const large = ['a', 'b'].map(contentId => ({ contentId, contentType: 'image/png', base64: contentId.repeat(3e6) }))
    const shown = previewHtml('<img src="cid:a">'.repeat(100) + '<img src="cid:b">'.repeat(100), large)
    const times = (part: string) => shown.split(part).length - 1
    expect([times(`base64,${'a'.repeat(3e6)}"`), times(`base64,${'b'.repeat(3e6)}"`)]).toEqual([2, 1])
    expect([times('"cid:a"'), times('"cid:b"')]).toEqual([98, 99])
    expect(shown.length).toBeLessThan(10e6)
  })

  test('a file that is no image, or whose type leaves the attribute, is not shown', () => {
    const html = '<img src="cid:x">'
    for (const contentType of ['text/html', 'image/png" onerror="x', 'image/svg+xml;,<script>'])
      expect(previewHtml(html, [{ contentId: 'x', contentType, base64: 'AA==' }])).toBe(html)
  })
})

test.each([
  '<link rel="preconnect" href="https://tracker.example">',
  '<LINK/rel=preconnect href=//tracker.example>',
  '<p title="<link rel=preconnect href=//tracker.example>">',
  '<li<link nk rel="dns-prefetch" href="//tracker.example">',
])('no link element is left of %s: it would connect to its host whatever the policy says', html => {
  expect(previewHtml(html, [])).not.toMatch(/<link[\s/>]/i)
})

test.each(['src=', 'url('])('very much space after %s is looked through in one pass', before => {
  expectLinearTime(size => before + ' '.repeat(size), 512 * 1024, hasRemoteContent)
})

test.each([
  ['<img src="https://tracker.example/p.gif">', true],
  ["<img src='//tracker.example/p.gif'>", true],
  ['<body background=http://x.example/b.png>', true],
  ['<p style="background:url( https://x.example/b.png )">', true],
  ['<a href="https://example.com">read</a><img src="cid:logo">', false],
])('%s has remote content: %s', (html, expected) => {
  expect(hasRemoteContent(html)).toBe(expected)
})

test('other hosts are allowed for images only, and only when asked for', () => {
  expect(previewPolicy(false)).not.toMatch(/https?:|script|allow-/)
  expect(previewPolicy(true)).toMatch(/img-src data: https: http:;/)
  expect(previewPolicy(true)).toMatch(/^sandbox; default-src 'none'/)
})
