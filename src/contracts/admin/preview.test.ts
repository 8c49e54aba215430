import { describe, expect, test } from 'vitest'
import { hasRemoteContent, previewPolicy, withInlineImages } from './preview.ts'

const logo = { contentId: 'logo@acme', contentType: 'image/png', base64: 'iVBORw0=' }

describe('inline images', () => {
  test.each([
    ['<img src="cid:logo@acme">', '<img src="data:image/png;base64,iVBORw0=">'],
    ["<img src='CID:logo%40acme'>", "<img src='data:image/png;base64,iVBORw0='>"],
    ['<td style="background:url(cid:logo@acme)">', '<td style="background:url(data:image/png;base64,iVBORw0=)">'],
    ['<img src="cid:other">', '<img src="cid:other">'],
    ['<img src="cid:%E0%A4%A">', '<img src="cid:%E0%A4%A">'],
  ])('%s', (html, expected) => {
    expect(withInlineImages(html, [logo])).toBe(expected)
  })

  test('a file that is no image, or whose type leaves the attribute, is not shown', () => {
    const html = '<img src="cid:x">'
    for (const contentType of ['text/html', 'image/png" onerror="x', 'image/svg+xml;,<script>'])
      expect(withInlineImages(html, [{ contentId: 'x', contentType, base64: 'AA==' }])).toBe(html)
  })
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
  expect(previewPolicy(true)).toMatch(/default-src 'none'.*sandbox$/)
})
