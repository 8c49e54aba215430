import { expect, test } from 'vitest'
import { namedInHtml, replaceCidUrls } from './urls.ts'

test.each([
  ['<img src="cid:logo@acme">', ['logo@acme']],
  ["<img src='CID:logo%40acme'><p>100%", ['logo@acme']],
  ['<td style="background:url(cid:100%)">', ['100%']],
  ['<img src="cid:Jos%C3%A9"><img src="cid:%E0%A4%A"><img src="cid:%ff">', ['José']],
  ['<img src="cid:a%2541"> is decoded once', ['a%41']],
  ['<img src="cid:logo@acm">', []],
])('%s names %j', (html, named) => {
  expect([...namedInHtml(html, new Set(['logo@acme', '100%', 'José', 'a%41', 'aA']))]).toEqual(named)
})

test('references that nothing is put in place of stay as they were written', () => {
  const html = '<img src="cid:a%40b"><img src="cid:other%"><img src="CID:a@b">'
  expect(replaceCidUrls(html, id => (id === 'a@b' ? 'x' : null))).toBe(
    '<img src="x"><img src="cid:other%"><img src="x">',
  )
})
