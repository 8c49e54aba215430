import { describe, expect, test } from 'vitest'
import { problemsOfTemplate } from './doors/resend/stored-templates.ts'
import { messageBody } from './doors/smtp/message-body.ts'
import { findLinks } from './inbox/links.ts'
import { prefersHtml } from './main/admin-ui.ts'
import { storable } from './outbox/settle.ts'
import { checkCss } from './platform/html/attributes.ts'
import { checkHtml } from './platform/html/rules.ts'
import { textFromHtml } from './platform/html/to-text.ts'
import { namedInHtml } from './platform/html/urls.ts'
import { parseAddress, parseBareAddress } from './platform/text/addresses.ts'
import { problemOfLine } from './platform/text/characters.ts'
import { maskSensitive } from './platform/text/masking.ts'
import { smtpBounce } from './providers/smtp/errors.ts'
import { readHeader } from './suppression/csv.ts'
import { parseTemplate } from './templates/parse.ts'
import { hasRemoteContent, previewHtml } from './web/download.ts'

/** Of the header of a request, and of one header of an SMTP message. */
const HEADER = 16_000
/** Of Content-Type and Content-Disposition in an SMTP message. */
const PARAMETERS = 4_000
/** Of the HTML, the text and the parts of a template. */
const CONTENT = 512 * 1024
/** Of a request and of an SMTP message. */
const BODY = 16 * 1024 * 1024

/**
 * Of this process, which other programs on the machine do not slow down. Linear time is less than a tenth of it; what took quadratic time
 * needed up to minutes.
 */
const MAX_MS = 2_000

type Reader = { read: (text: string) => unknown; size: number; worst: Worst[] }
/** What is repeated, or also what stands before and after it. */
type Worst = string | [before: string, repeated: string, after: string]

const addressOf = (text: string) => {
  const parsed = parseBareAddress(text)
  if (!parsed.ok) throw new Error(text)
  return parsed.value
}
const ENVELOPE = [addressOf('maria@example.com')]

/** A message is read in less than a millisecond, so that each header value is read many times. */
const inHeader = (name: string) => (value: string) => {
  const others = ['From: shop@sender.test', 'To: maria@example.com'].filter(line => !line.startsWith(`${name}:`))
  const message = Buffer.from([...others, `${name}: ${value}`, '', 'Hi'].join('\r\n'))
  for (let n = 0; n < 20; n++) orRefused(() => messageBody(message, ENVELOPE))
}
const asBody = (type: string) => (content: string) =>
  messageBody(
    Buffer.from(`From: shop@sender.test\r\nTo: maria@example.com\r\nContent-Type: ${type}\r\n\r\n${content}`),
    ENVELOPE,
  )

const IN_ADDRESSES: Worst[] = ['\\"', '"', '"(', '("', '(', '<@', ' @ ', '"a"@', 'a,', '=?a?', '=?utf-8?q?=?=']
const IN_PARAMETERS: Worst[] = ['name*=', '";=', ['a; name', '*1', ''], ['a; x=', ' ', 'x'], ['a;', ' ', 'x'], '=?a?']

const READERS: Record<string, Reader> = {
  'the header Accept': {
    read: accept => prefersHtml(accept),
    size: HEADER * 10,
    worst: [' ', ';', ',', ['a', ' ', 'b'], ['text/html;', ' ', 'x'], ['text/html', '\t', ';q=1']],
  },
  'an address': { read: parseAddress, size: HEADER, worst: ['"', '\\"', 'a ', 'a.', '<', ['"', '\\"', '']] },
  'a line of text': { read: problemOfLine, size: HEADER, worst: ['=?', '=?a?', '\u200d', '👩\u200d', '\u0645\u0301'] },
  'From in SMTP': { read: inHeader('From'), size: HEADER, worst: IN_ADDRESSES },
  'Reply-To in SMTP': { read: inHeader('Reply-To'), size: HEADER, worst: IN_ADDRESSES },
  'To in SMTP': { read: inHeader('To'), size: HEADER, worst: IN_ADDRESSES },
  'Subject in SMTP': { read: inHeader('Subject'), size: HEADER, worst: ['=?a?b?', '=?', '=?utf-8?q?=?='] },
  'List-Unsubscribe in SMTP': {
    read: inHeader('List-Unsubscribe'),
    size: HEADER,
    worst: ['<>(\\', '<> ', '<', ['<>', ' ', 'x'], ['<>(', '\\(', ''], '<>('],
  },
  'Content-Type in SMTP': { read: inHeader('Content-Type'), size: PARAMETERS, worst: IN_PARAMETERS },
  'Content-Disposition in SMTP': { read: inHeader('Content-Disposition'), size: PARAMETERS, worst: IN_PARAMETERS },
  'HTML over SMTP': { read: asBody('text/html'), size: BODY, worst: ['cid:%\r\n', '\r\n', '<img src=cid:a>\r\n'] },
  'flowed text over SMTP': {
    read: asBody('text/plain; format=flowed'),
    size: CONTENT,
    worst: ['a \r\n', '>', ' \r\n'],
  },
  'references to inline images': {
    read: html => namedInHtml(html, new Set(['x'])),
    size: CONTENT,
    worst: ['cid:%', 'cid:% ', 'cid:%ff ', 'cid:', ['cid:', '%', '']],
  },
  'the preview': {
    read: html => previewHtml(html, [{ contentId: 'a', contentType: 'image/png', base64: 'A'.repeat(1_000_000) }]),
    size: CONTENT,
    worst: ['cid:a ', 'cid:% ', '<link', '<link '],
  },
  'the search for images of other hosts': {
    read: hasRemoteContent,
    size: CONTENT,
    worst: ['src', 'src=', 'url(', ['src=', ' ', 'x'], ['src', ' ', 'x'], ['url(', ' ', 'x'], `src${' '.repeat(20)}= `],
  },
  'the rules for HTML': {
    read: html => checkHtml(html),
    size: CONTENT,
    worst: ['<', '<!--', '<meta ', 'charset', '<p style="', '&', ['<p style="', 'url(', '">'], ['<a on', 'x', '>']],
  },
  'the rules for style sheets': {
    read: checkCss,
    size: CONTENT,
    worst: ['/*', 'url(', '"\\', '@import', '\\', ['url(', ' ', '"'], ['@import', '"', 'x'], ['@charset', '"', 'x']],
  },
  'the text made from HTML': {
    read: textFromHtml,
    size: CONTENT,
    worst: [
      ['a', '\u200c', 'b'],
      ['a', '\u200c\u200d', 'b'],
      ['a', '&zwnj;', 'b'],
      'a\u200c',
      ['<pre>', '\n ', ''],
      ['<p style="', ' ', '">x'],
      ['', '<a href="https://x"><table><td>', 'x'],
    ],
  },
  'the links in a text': {
    read: text => findLinks(null, text),
    size: BODY / 2,
    worst: ['http://', 'http://x ', `http://${'.'.repeat(1_990)}x `, `http://${')'.repeat(1_990)}x `],
  },
  'the links in HTML': {
    read: html => findLinks(html, null),
    size: CONTENT,
    worst: [
      [`${'<a href=x><table><td>'.repeat(50)}`, 'y ', ''],
      [`<a href=x>${'<i>'.repeat(240)}`, 'y ', ''],
      [`${'<a href=x><table><td>'.repeat(50)}`, '<i> </i>', ''],
      '<a href=x>',
    ],
  },
  'what is masked in logs': {
    read: maskSensitive,
    size: CONTENT / 4,
    worst: ['@', '%40', 'a@', '"@', '1.', '0-0', 'a/', ['@', '.', ''], ['', '11', 'x'], ['', 'a', '@b.c']],
  },
  'a template': {
    read: html => parseTemplate({ subject: 's', html, text: null }),
    size: CONTENT,
    worst: [
      '{{',
      '{%',
      '{{-',
      '{{ a }}',
      '{% raw %}',
      ['{%', ' ', 'x'],
      ['{% raw %}', '{% ', ''],
      ['', ' ', '{{- a }}'],
    ],
  },
  'a template of the Resend API': {
    read: html => problemsOfTemplate({ subject: 's', html, text: null, variables: [] }),
    size: CONTENT,
    worst: ['{', '{{{', '{{{ a', ['{{{', ' ', '']],
  },
  'the reply of a mail server': {
    read: reply => smtpBounce(`550 ${reply}`),
    size: CONTENT,
    worst: ['user ', 'smtp ', 'unknown ', '5.1.1', ['smtp', ' ', 'x'], 'mailbox'],
  },
  'the answer of a provider, as JSON': {
    read: text => storable(JSON.stringify(`${text}\0`)),
    size: HEADER * 4,
    worst: ['\\', '\\u', '\0', '\ud800', '\\\\u0000'],
  },
  'the first line of a CSV': {
    read: line => orRefused(() => readHeader(line)),
    size: BODY / 8,
    worst: ['"', '""', '"a,', ' ,', ',"', ['"', '""', 'x'], ['x', ' ', 'x'], ['"a"', ', ', '"']],
  },
}

function orRefused(read: () => unknown): void {
  try {
    read()
  } catch (error) {
    if (error instanceof RangeError || error instanceof TypeError) throw error
  }
}

function written(worst: Worst, size: number): string {
  const [before, repeated, after] = typeof worst === 'string' ? ['', worst, ''] : worst
  return before + repeated.repeat(Math.floor((size - before.length - after.length) / repeated.length)) + after
}

const shown = (worst: Worst) => JSON.stringify(worst).slice(0, 60)

describe.each(Object.entries(READERS))('%s is read in little time, at its largest', (_name, { read, size, worst }) => {
  test.each(worst.map(one => [shown(one), one] as const))('full of %s', (_shown, one) => {
    const text = written(one, size)
    const before = process.cpuUsage()
    read(text)
    const { user, system } = process.cpuUsage(before)
    expect((user + system) / 1_000).toBeLessThan(MAX_MS)
  })
})
