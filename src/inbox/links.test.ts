import { describe, expect, test } from 'vitest'
import { findLinks } from './links.ts'

describe('findLinks', () => {
  test('lists the links of the HTML in their order, each address once, with their text', () => {
    const html = `<p><a href="https://a.example/?x=1&amp;y=2">Pay <b>now</b></a> <a href="#top">up</a>
      <a href=" mailto:help@example.com ">help</a><a href="https://a.example/?x=1&y=2">again</a></p>`
    expect(findLinks(html, 'https://text.example')).toEqual([
      { href: 'https://a.example/?x=1&y=2', text: 'Pay now' },
      { href: 'mailto:help@example.com', text: 'help' },
    ])
  })

  test('reads the text when there is no HTML, without the end of the sentence', () => {
    expect(findLinks(null, 'See https://a.example/b?c=d. Or (http://e.example).')).toEqual([
      { href: 'https://a.example/b?c=d', text: '' },
      { href: 'http://e.example', text: '' },
    ])
  })

  test.each([
    ['addresses of full stops', null, `http://${'.'.repeat(1_990)}x `.repeat(5_000)],
    ['links inside links', `${'<a href=x><table><tr><td>'.repeat(50)}${'y '.repeat(20_000)}`, null],
  ])('%s take little time', (_name, html, text) => {
    const start = performance.now()
    expect(findLinks(html, text).length).toBeGreaterThan(0)
    expect(performance.now() - start).toBeLessThan(2_000)
  })

  test('says nothing about HTML beyond the limits of the parser, and is bounded for the rest', () => {
    expect(findLinks('<div>'.repeat(100_000), null)).toEqual([])
    const many = Array.from({ length: 300 }, (_, n) => `<a href="https://a.example/${n}">${'x'.repeat(300)}</a>`).join(
      '',
    )
    expect(findLinks(many, null)).toHaveLength(200)
    expect(findLinks(many, null)[0]!.text).toHaveLength(200)
  })
})
