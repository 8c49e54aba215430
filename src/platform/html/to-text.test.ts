import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bestMs, expectLinearTime } from '../../../test/support/growth.ts'
import { REOPENED_FORMATTING, WORST_ACCEPTED } from './rules.corpus.ts'
import { REAL_MAILS } from './rules.mails.ts'
import { textFromHtml } from './to-text.ts'

const CASES: ReadonlyArray<readonly [name: string, html: string, text: string]> = [
  ['an empty e-mail stays empty', '', ''],
  ['text without tags stays as it is', 'Olá', 'Olá'],
  ['paragraphs are separated by an empty line', '<p>a</p><p>b</p>', 'a\n\nb'],
  ['headings stand alone', '<h1>Título</h1>texto', 'Título\n\ntexto'],
  ['divisions begin a line', '<div>a</div><div>b<div>c</div></div>d', 'a\nb\nc\nd'],
  ['a break is one line, many are at most one empty line', 'a<br>b<br><br><br><br>c', 'a\nb\n\nc'],
  ['white space collapses', '<p>  a \n\t b   <b> c </b> d </p>', 'a b c d'],
  ['words in tags stay together', 'in<b>te</b>iro', 'inteiro'],
  ['entities are decoded', 'R$&nbsp;5 &lt; 6 &amp; caf&eacute; &#8364;', 'R$ 5 < 6 & café €'],
  [
    'lists have dashes, nested ones are indented',
    '<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>',
    '- a\n  - b\n- c',
  ],
  ['ordered lists have dashes too', 'x<ol><li>a<li>b</ol>y', 'x\n\n- a\n- b\n\ny'],
  ['an empty item leaves no dash', '<ul><li></li><li>b</li></ul>', '- b'],
  [
    'cells are separated by spaces, rows by lines',
    '<table><tr><th>a</th><td>b</td></tr><tr><td>c<td>d</table>',
    'a b\nc d',
  ],
  [
    'a link shows its target',
    '<a href="https://x.example/a?b=1&amp;c=2">veja</a>',
    'veja (https://x.example/a?b=1&c=2)',
  ],
  [
    'a link whose text is its target is not repeated',
    '<a href="https://x.example/">https://x.example</a>',
    'https://x.example',
  ],
  [
    'neither is an address',
    '<a href="mailto:a@b.c?subject=Oi">a@b.c</a>, <a href="tel:+55-11-9">(+55) 11 9</a>',
    'a@b.c, (+55) 11 9',
  ],
  [
    'a link without text becomes its target',
    '<a href="https://x.example/y"><img src="i.png"></a>',
    'https://x.example/y',
  ],
  ['links to places in the page or to code are only text', '<a href="#a">a</a> <a href="javascript:x">b</a>', 'a b'],
  [
    'the target stands before the line break',
    '<a href="https://x.example"><div>a</div></a>b',
    'a (https://x.example)\nb',
  ],
  [
    'images are their alternative text',
    '<p><img src=x alt="Gráfico de vendas"> e <img src=y alt=""></p>',
    'Gráfico de vendas e',
  ],
  ['a rule is a row of dashes', 'a<hr>b', 'a\n\n----------\n\nb'],
  ['preformatted text keeps its shape', 'a<pre>  x\n    y\n</pre>b', 'a\n\n  x\n    y\n\nb'],
  [
    'head, style, script, template and comments are dropped',
    '<title>t</title><style>a{}</style>a<script>1</script><template>x</template><!-- c -->b',
    'ab',
  ],
  [
    'a hidden preheader is dropped',
    '<div style="color:red; DISPLAY : none">x</div><p style="max-height:0;overflow:hidden">y</p><b hidden>z</b>a',
    'a',
  ],
  ['filler after a preheader is dropped', 'a &zwnj;&nbsp;&zwnj;&nbsp;&#847;&nbsp;b', 'a b'],
  ['joiners at the edges of a word are dropped', '\u200ca\u200c\u200d b\u200d \u200d', 'a b'],
  ['joined emoji and Persian joiners stay', '👩‍💻 می‌خواهم', '👩‍💻 می‌خواهم'],
  ['noscript is read, since there are no scripts', '<noscript><p>a</p></noscript>', 'a'],
  ['what only Outlook sees is dropped', '<!--[if mso]><p>x</p><![endif]-->a<!--[if !mso]><!-->b<!--<![endif]-->', 'ab'],
]

describe('the text alternative', () => {
  test.each(CASES)('%s', (_name, html, text) => {
    expect(textFromHtml(html)).toBe(text)
  })

  test('a receipt reads like a receipt', () => {
    expect(textFromHtml(REAL_MAILS['a receipt in Portuguese']!)).toContain(
      'Item Qtd. Preço\nCafeteira "Expresso" 20 bar & filtro 1 R$ 999,90\nAçúcar < 1 kg 2 R$ 250,00\nTotal R$ 1.249,90',
    )
  })

  test('an e-mail too deep for a tree is stripped of its tags', () => {
    const html = `${'<div>'.repeat(5000)}<b>Oi</b> &amp; <!-- x > y --><STYLE>a{}</STYLE>tchau<p title="x">5 < 6 <<b>b></p>`
    expect(textFromHtml(html)).toBe('Oi &\ntchau\n5 < 6 <b>')
  })

  test.each(['<div>', '<p>', '<a href="https://x/y">z</a>', '<style>', '</', '<!--', ' ', '<td>x', 'a \n'])(
    'half a megabyte of %j takes linear time',
    unit => expectLinearTime(size => unit.repeat(Math.floor(size / unit.length)), 512 * 1024, textFromHtml),
    60_000,
  )

  test('one word of very many joiners takes linear time', () => {
    expectLinearTime(size => `a${'\u200c'.repeat(size / 3)}b`, 512 * 1024, textFromHtml)
  }, 60_000)

  test.each([
    ['the worst HTML that is accepted', WORST_ACCEPTED],
    ['reopened formatting', REOPENED_FORMATTING],
    ['a reopened link', `<p><a href="https://x/${'a'.repeat(3900)}">${'<p>x'.repeat(1000)}`],
  ])('%s gives a short text at once', (_name, html) => {
    expect(textFromHtml(html).length).toBeLessThan(10 * html.length)
    // Measured 1 to 11 ms; without the node limit up to 110 ms and 4 MB.
    expect(bestMs(() => textFromHtml(html), 5)).toBeLessThan(100)
  })

  test('any input gives trimmed text without three line breaks in a row and without an exception', () => {
    const piece = fc.constantFrom(
      ...[
        '<p>',
        '</p>',
        '<table>',
        '<td>',
        '<tr>',
        '<li>',
        '<ul>',
        '<pre>',
        '</pre>',
        '<br>',
        '<a href="https://x">',
        '</a>',
      ],
      ...[
        '<style>',
        '</style>',
        '<!--',
        '-->',
        '<hr>',
        'texto',
        ' ',
        '\n',
        '&nbsp;',
        '<',
        '<svg>',
        '<template>',
        '<div>'.repeat(300),
      ],
    )
    const html = fc.oneof(
      fc.array(piece).map(pieces => pieces.join('')),
      fc.string({ unit: 'binary' }),
    )
    fc.assert(
      fc.property(html, source => {
        const text = textFromHtml(source)
        expect(text).toBe(text.trim())
        expect(text).not.toMatch(/\n\n\n/)
      }),
    )
  }, 30_000)
})
