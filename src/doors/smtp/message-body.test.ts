import { describe, expect, test } from 'vitest'
import { parseBareAddress } from '../../platform/text/addresses.ts'
import { messageBody } from './message-body.ts'
import { Refused } from './replies.ts'

const lines = (...all: string[]) => Buffer.from(all.join('\r\n'))
const addresses = (...all: string[]) =>
  all.map(text => {
    const parsed = parseBareAddress(text)
    if (!parsed.ok) throw new Error(text)
    return parsed.value
  })
const read = (message: Buffer, ...recipients: string[]) =>
  messageBody(message, addresses(...(recipients.length > 0 ? recipients : ['maria@example.com'])))
const body = (message: Buffer, ...recipients: string[]) => read(message, ...recipients).body
const HEAD = ['From: shop@sender.test', 'To: maria@example.com', 'Subject: Hello']
const plain = (...headers: string[]) => lines(...HEAD, ...headers, '', 'Hi')
const typed = (type: string, ...rest: string[]) => lines(...HEAD, 'MIME-Version: 1.0', `Content-Type: ${type}`, ...rest)
const multipart = (type: string, ...parts: string[][]) =>
  typed(`multipart/${type}; boundary=b`, '', ...parts.flatMap(part => ['--b', ...part]), '--b--', '')
const part = (type: string, text: string, ...headers: string[]) => [`Content-Type: ${type}`, ...headers, '', text]
const file = (name: string) => `Content-Disposition: attachment; filename="${name}"`
const from = (written: string) => lines(`From: ${written}`, ...HEAD.slice(1), '', 'Hi')
const base64 = (text: string) => Buffer.from(text).toString('base64')

/** Of this process, which other programs do not slow down. What is meant is not to grow with the square of the message. */
function processorTime(): () => number {
  const before = process.cpuUsage()
  return () => {
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000
  }
}

describe('recipients', () => {
  const message = lines(
    'From: =?utf-8?Q?Jo=C3=A3o?= <shop@sender.test>',
    'To: "Silva, Maria" <Maria@Example.com>, other@example.com',
    'Cc: team: Ana <ana@example.com>;',
    'Bcc: secret@example.com',
    'Reply-To: Help <help@sender.test>',
    'Subject: =?utf-8?B?T2zDoQ==?= =?utf-8?Q?_Maria?=',
    '',
    'Hi',
  )

  test('the envelope decides who, To and Cc decide how, and everybody else is bcc', () => {
    expect(
      body(message, 'maria@example.com', 'ana@example.com', 'secret@example.com', 'hidden@example.com'),
    ).toMatchObject({
      from: '"João" <shop@sender.test>',
      to: ['"Silva, Maria" <maria@example.com>'],
      cc: ['Ana <ana@example.com>'],
      bcc: ['secret@example.com', 'hidden@example.com'],
      replyTo: ['"Help" <help@sender.test>'],
      subject: 'Olá Maria',
    })
  })

  test('a copy for one recipient alone is for that one', () => {
    expect(body(message, 'secret@example.com')).toMatchObject({ to: ['secret@example.com'] })
    expect(body(message, 'ana@example.com', 'secret@example.com')).toMatchObject({
      to: ['Ana <ana@example.com>'],
      bcc: ['secret@example.com'],
    })
  })

  test('several recipients of whom the message names none are refused: one of them would be shown to the others', () => {
    expect(() => body(message, 'a@example.com', 'b@example.com')).toThrow('5.6.0 No recipient of the envelope')
  })

  test.each([
    ['no From', lines('To: maria@example.com', '', 'Hi'), 'From must have exactly one address'],
    [
      'two authors',
      plain('X-A: b').toString().replace('From: ', 'From: a@b.test, '),
      'From must have exactly one address',
    ],
    ['two From headers', plain('From: evil@sender.test'), 'From is there more than once'],
    ['a Reply-To that is no address', plain('Reply-To: nobody'), '5.6.0 The header Reply-To has something'],
    ['a Reply-To with one that is none', plain('Reply-To: a@b.test, Help'), 'The header Reply-To has something'],
    ['a Reply-To with nobody in it', plain('Reply-To: team:;'), 'The header Reply-To has something'],
    ['another Sender', plain('Sender: other@sender.test'), '5.6.1 A Sender'],
    ['two addresses for one author', from('Shop <shop@sender.test> <evil@b.test>'), 'From has an entry that is not'],
    ['an address after another', from('<shop@sender.test> evil@b.test'), 'From has an entry that is not'],
    ['two addresses in one entry of Reply-To', plain('Reply-To: A <a@b.test> <c@d.test>'), 'Reply-To has an entry'],
    [
      'two addresses after a quotation mark that nothing closes',
      from('12" <a@b.test> <c@d.test>'),
      'From has an entry',
    ],
  ])('%s is refused', (_name, message, sentence) => {
    expect(() => body(Buffer.from(message))).toThrow(sentence)
  })

  test.each([
    ['"A \\" <x@y.test>" <shop@sender.test>', '"A \\" <x@y.test>" <shop@sender.test>'],
    ['Shop (was <old@sender.test>) <shop@sender.test>', '"Shop" <shop@sender.test>'],
  ])('an address that is quoted or in a comment is not a second one: %s', (written, expected) => {
    expect(body(from(written)).from).toBe(expected)
  })

  test.each([
    ['=?utf-8?Q?Shop:_Loja?= <shop@sender.test>', '"Shop: Loja" <shop@sender.test>'],
    ['=?utf-8?Q?Loja,?= =?utf-8?Q?_S=C3=A3o?= <shop@sender.test>', '"Loja, São" <shop@sender.test>'],
    ['"Shop <x@y.test>" (a <comment>) <shop@sender.test>', '"Shop <x@y.test>" <shop@sender.test>'],
    ['Team: Ana <ana@sender.test>;', '"Ana" <ana@sender.test>'],
  ])('the sender %s is %s', (written, read) => {
    expect(body(from(written)).from).toBe(read)
  })

  test.each(['X-Gateway-Tags', 'X-Gateway-External-Id', 'X-Campaign', 'Reply-To', 'Cc'])(
    'an encoded NUL in %s is refused',
    name => {
      const message = plain(`${name}: =?utf-8?Q?a=00b?= <maria@example.com>`)
      expect(() => body(message)).toThrow(`5.6.0 The header ${name} has a NUL character`)
    },
  )

  test('an encoded name does not become an address', () => {
    const tricked = plain()
      .toString()
      .replace('maria@example.com', `=?utf-8?B?${base64('evil@example.com')}?= <maria@example.com>`)
    expect(body(Buffer.from(tricked)).to).toEqual(['"evil@example.com" <maria@example.com>'])
  })
})

describe('headers', () => {
  test.each([
    ['<https://shop.test/u(1)> (Unsubscribe \\(a\\) here), <mailto:u@shop.test> (=?utf-8?Q?Ol=C3=A1?=)'],
    ['<https://shop.test/u(1)>(a) , <mailto:u@shop.test>'],
  ])('comments after the links of List-Unsubscribe are left out: %s', written => {
    const links = expect.stringMatching(/^<https:\/\/shop\.test\/u\(1\)> ?, <mailto:u@shop\.test>$/)
    expect(body(plain(`List-Unsubscribe: ${written}`))).toMatchObject({ headers: { 'List-Unsubscribe': links } })
  })

  test('options are taken off the message, other headers stay, and what mail servers write is left out', () => {
    const message = plain(
      'X-Gateway-Tags: order, paid',
      'X-Gateway-External-Id: order-1',
      'X-Gateway-Priority: 2',
      'X-Gateway-Scheduled-At: 2026-11-20T10:00:00Z',
      'X-Gateway-Retry-Policy: patient',
      'X-Gateway-On-Unknown: hold',
      'Idempotency-Key: order-1-mail',
      'X-Campaign: spring',
      'List-Unsubscribe: <https://shop.test/u>,',
      ' <mailto:u@shop.test>',
      'Message-ID: <1@client.test>',
      'Date: Tue, 17 Nov 2026 06:00:00 +0000',
      'Received: from a by b',
      'X-Empty:',
    )
    expect(read(message)).toEqual({
      idempotencyKey: 'order-1-mail',
      body: {
        ...{ tags: ['order', 'paid'], externalId: 'order-1', priority: 2, scheduledAt: '2026-11-20T10:00:00Z' },
        ...{ retryPolicy: 'patient', onUnknown: 'hold' },
        headers: { 'X-Campaign': 'spring', 'List-Unsubscribe': '<https://shop.test/u>, <mailto:u@shop.test>' },
        ...{ from: 'shop@sender.test', to: ['maria@example.com'], subject: 'Hello', text: 'Hi' },
      },
    })
  })

  test.each([
    [
      'an unknown option',
      plain('X-Gateway-Tag: a'),
      '5.6.0 The header X-Gateway-Tag is not known: there are x-gateway-tags,',
    ],
    ['an option twice', plain('X-Gateway-Tags: a', 'X-Gateway-Tags: b'), 'X-Gateway-Tags is there more than once'],
    ['a header twice', plain('X-A: a', 'X-A: b'), 'X-A is there more than once'],
    ['a line without a colon', plain('what'), 'A line of the header is not "Name: value"'],
    ['a space before the colon', plain('X-A : b'), 'A line of the header is not "Name: value"'],
    [
      'bytes that are no UTF-8',
      Buffer.concat([Buffer.from('X-A: '), Buffer.from([0xe1]), plain()]),
      'neither ASCII nor UTF-8',
    ],
    ['a key that is too long', plain(`Idempotency-Key: ${'k'.repeat(257)}`), 'Idempotency-Key must have 1 to 256'],
    ['a number that is none', plain('X-Gateway-Delay: abc'), '5.6.0 The header X-Gateway-Delay must be a whole number'],
    ['a header that JavaScript would lose', plain('__proto__: a'), '5.6.0 The header __proto__ cannot be set'],
    ['a huge header', plain(`X-A: ${'a'.repeat(17_000)}`), 'The header X-A is longer than'],
    ['too many headers', plain(...Array.from({ length: 201 }, (_, i) => `X-${i}: a`)), 'more than 200 headers'],
  ])('%s is refused', (_name, message, sentence) => {
    expect(() => read(message)).toThrow(sentence)
  })
})

describe('encoded words', () => {
  const subjectOf = (written: string) => body(lines('From: shop@sender.test', `Subject: ${written}`, '', 'Hi')).subject

  test.each([
    ['words of several charsets', '=?iso-8859-1?Q?Ol=E1_?= =?UTF-8?B?w6E=?= and more', 'Olá á and more'],
    ['a character divided between two words', '=?utf-8?Q?=C3?= =?UTF-8?Q?=A1?=', 'á'],
    ['a language', '=?utf-8*pt-BR?Q?=C3=A1?=', 'á'],
    ['Japanese', '=?ISO-2022-JP?B?GyRCRnxLXBsoQg==?= =?iso-2022-jp?b?GyRCOGwbKEI=?=', '日本語'],
    ['ASCII that is UTF-8', '=?us-ascii?Q?=C3=A1?=', 'á'],
    ['words next to other text', 'a =?utf-8?Q?b?= c =?utf-8?Q?d?=e', 'a b c de'],
    ['an escape that is none', '=?utf-8?Q?100=_=ZZ?=', '100= =ZZ'],
    ['what is no encoded word', '=?utf-8?X?a?= =?utf-8?Q?a', '=?utf-8?X?a?= =?utf-8?Q?a'],
  ])('%s', (_name, written, decoded) => {
    expect(subjectOf(written)).toBe(decoded)
  })

  const word = (header: string, word: string) =>
    plain()
      .toString()
      .replace(new RegExp(`^${header}: `, 'm'), `${header}: ${word} `)
      .replace(/ (\S+@\S+)/g, ' <$1>')
  const attached = (disposition: string) =>
    multipart('mixed', part('text/plain', 'Hi'), part('image/png', 'a', `Content-Disposition: ${disposition}`))

  test.each([
    ['an unknown charset', word('Subject', '=?klingon?Q?a?='), '5.6.1 The charset of the header Subject is not known'],
    ['an unknown charset of a name', word('From', '=?klingon?Q?a?='), 'The charset of the header From is not known'],
    ['bytes that do not fit', word('To', '=?utf-8?Q?=E1?='), '5.6.0 The header To has bytes that are not utf-8'],
    [
      'base64 that is cut',
      word('Subject', '=?utf-8?B?w6Eh?= =?utf-8?B?w6E?='),
      'encoded word that is not valid base64',
    ],
    ['another header', plain('X-A: =?utf-8?Q?=E1?='), 'The header X-A has bytes that are not utf-8'],
    [
      'a file name',
      attached('attachment; filename="=?klingon?Q?a?="'),
      'The charset of the header Content-Disposition is not known',
    ],
    [
      'an unknown charset of RFC 2231',
      attached("attachment; filename*=klingon''a"),
      '5.6.1 The charset of the file name in Content-Disposition is not known',
    ],
    [
      'bytes that do not fit in RFC 2231',
      attached("attachment; filename*0*=utf-8''%E1; filename*1=.png"),
      '5.6.0 The file name in Content-Disposition has bytes that are not of its charset',
    ],
  ])('%s is refused, not replaced by other characters', (_name, message, sentence) => {
    expect(() => body(Buffer.from(message))).toThrow(sentence)
  })
})

describe('content', () => {
  const invite = ['BEGIN:VCALENDAR', 'METHOD:REQUEST', 'END:VCALENDAR'].join('\r\n')

  test('text, HTML with an inline image, a calendar part and a file all survive', () => {
    const alternative = [
      'Content-Type: multipart/alternative; boundary=alt',
      '',
      '--alt',
      ...part('text/plain; charset=iso-8859-1', 'Ol=E1 =\r\nMaria', 'Content-Transfer-Encoding: quoted-printable'),
      '--alt',
      'Content-Type: multipart/related; boundary=rel',
      '',
      '--rel',
      ...part(
        'text/html; charset=utf-8',
        base64('<p>Olá <img src="cid:logo@shop"></p>'),
        'Content-Transfer-Encoding: base64',
      ),
      '--rel',
      ...part(
        'image/png; name=logo.png',
        base64('png'),
        'Content-ID: <logo@shop>',
        'Content-Transfer-Encoding: base64',
      ),
      '--rel--',
      '--alt',
      ...part('text/calendar; method=REQUEST; charset=utf-8', invite),
      '--alt--',
    ]
    const pdf = part(
      'application/pdf',
      base64('pdf'),
      file('a.pdf'),
      'Content-ID: <x@y>',
      'Content-Transfer-Encoding: base64',
    )
    const { text, html, attachments } = body(multipart('mixed', alternative, pdf))
    expect({ text, html }).toEqual({ text: 'Olá Maria', html: '<p>Olá <img src="cid:logo@shop"></p>' })
    expect(attachments).toEqual([
      { filename: 'logo.png', contentType: 'image/png', content: base64('png'), contentId: 'logo@shop' },
      { filename: 'invite.ics', contentType: 'text/calendar; method=REQUEST; charset=utf-8', content: base64(invite) },
      { filename: 'a.pdf', contentType: 'application/pdf', content: base64('pdf') },
    ])
  })

  test.each([
    ['an encoded file name', 'attachment; filename="=?utf-8?Q?relat=C3=B3rio.pdf?="'],
    ['a file name of RFC 2231', "attachment; filename*0*=utf-8''relat%C3%B3; filename*1=rio.pdf"],
  ])('%s is decoded', (_name, disposition) => {
    const files = multipart(
      'mixed',
      part('text/plain', 'Hi'),
      part('application/pdf', 'pdf', `Content-Disposition: ${disposition}`),
    )
    expect(body(files).attachments).toMatchObject([{ filename: 'relatório.pdf' }])
  })

  test('a text with a file name and an attached message are files', () => {
    const message = multipart(
      'mixed',
      part('text/plain', 'Hi'),
      part('text/plain', 'a;b', file('a.csv')),
      part('message/rfc822', 'From: a\r\n\r\nb'),
    )
    expect(body(message)).toMatchObject({
      text: 'Hi',
      attachments: [
        { filename: 'a.csv', contentType: 'text/plain', content: base64('a;b') },
        { filename: 'attachment-2.eml', contentType: 'message/rfc822', content: base64('From: a\r\n\r\nb') },
      ],
    })
  })

  test('an attached image whose Content-ID is percent-encoded in the HTML is shown there', () => {
    const image = part('image/png', 'x', 'Content-ID: <a@shop>', file('a.png'))
    const message = multipart('mixed', part('text/html', '<img src="cid:a%40shop">'), image)
    expect(body(message).attachments).toMatchObject([{ contentId: 'a@shop' }])
  })

  test.each([
    ['HTML that is too long to be accepted', 16 * 1024 * 1024],
    ['the longest HTML that is accepted', 500 * 1024],
  ])('very many references to inline images take little time in %s', (_name, bytes) => {
    const html = 'cid:%\r\n'.repeat(bytes / 7)
    const image = part('image/png', 'x', 'Content-ID: <a@shop>', file('a.png'))
    const message = multipart('mixed', part('text/html', html), image)
    const spentMs = processorTime()
    expect(body(message).attachments).toHaveLength(1)
    expect(spentMs()).toBeLessThan(2_000)
  })

  test('flowed text is joined, and an attached .p7m document is a file', () => {
    expect(body(typed('text/plain; format=flowed', '', 'one ', 'line', '', 'two')).text).toBe('one line\n\ntwo')
    const signed = multipart(
      'mixed',
      part('text/plain', 'Hi'),
      part('application/pkcs7-mime', 'x', file('contract.pdf.p7m')),
    )
    expect(body(signed).attachments).toMatchObject([{ filename: 'contract.pdf.p7m' }])
  })

  test('a boundary inside a line separates nothing, and what surrounds the parts belongs to none', () => {
    const message = typed(
      'multipart/mixed; boundary=b',
      '',
      'preamble',
      '--b',
      '',
      'a --b',
      '--bc',
      ' --b',
      '--b--',
      'epilogue',
    )
    expect(body(message).text).toBe('a --b\n--bc\n --b')
  })

  test.each([
    [
      'signed',
      'multipart/signed',
      multipart(
        'signed; protocol="application/pgp-signature"',
        part('text/plain', 'Hi'),
        part('application/pgp-signature', 's'),
      ),
    ],
    ['encrypted', 'multipart/encrypted', multipart('encrypted', part('application/pgp-encrypted', 'Version: 1'))],
    [
      'S/MIME',
      'application/pkcs7-mime',
      typed('application/pkcs7-mime; smime-type=enveloped-data', file('smime.p7m'), '', 'x'),
    ],
    [
      'signed inside',
      'nested',
      multipart('mixed', [
        'Content-Type: multipart/signed; boundary=c',
        '',
        '--c',
        ...part('text/plain', 'Hi'),
        '--c--',
      ]),
    ],
  ])('a message that is %s is refused in words', (_name, _type, message) => {
    expect(() => body(message)).toThrow('5.6.1 Signed and encrypted messages')
  })

  test.each([
    [
      'two texts',
      multipart('mixed', part('text/plain', 'a'), part('text/html', 'b')),
      '5.6.1 The message has more than one text',
    ],
    [
      'two alternatives of one type',
      multipart('alternative', part('text/plain', 'a'), part('text/plain', 'b')),
      'two parts of the same type',
    ],
    [
      'an AMP part',
      multipart('alternative', part('text/plain', 'a'), part('text/x-amp-html', 'b')),
      'A text/x-amp-html part inside multipart/alternative',
    ],
    ['a delivery report', multipart('report', part('text/plain', 'a')), 'A multipart/report part cannot be carried'],
    [
      'a pointer to elsewhere',
      multipart('mixed', part('message/external-body; access-type=URL', 'a')),
      'message/external-body part cannot be carried',
    ],
    [
      'an unknown charset',
      typed('text/plain; charset=klingon', '', 'a'),
      'charset of the text/plain part is not known',
    ],
    [
      'bytes of another charset',
      Buffer.concat([typed('text/plain; charset=utf-8', '', ''), Buffer.from([0xe1])]),
      'bytes that are not utf-8',
    ],
    [
      'an encoded NUL',
      typed('text/plain', 'Content-Transfer-Encoding: quoted-printable', '', 'a=00b'),
      '5.6.0 The text/plain part has a NUL character',
    ],
    [
      'a NUL of base64',
      multipart('alternative', part('text/plain', 'YQBi', 'Content-Transfer-Encoding: base64')),
      '5.6.0 The text/plain part has a NUL character',
    ],
    [
      'a NUL in the HTML',
      typed('text/html', 'Content-Transfer-Encoding: quoted-printable', '', '<p>a=00b</p>'),
      '5.6.0 The text/html part has a NUL character',
    ],
    [
      'a lone surrogate of UTF-16',
      typed('text/plain; charset=utf-16le', 'Content-Transfer-Encoding: base64', '', 'YQAA2GIA'),
      '5.6.0 The text/plain part has bytes that are not utf-16le',
    ],
    [
      'a lone surrogate of UTF-8',
      typed('text/plain; charset=utf-8', 'Content-Transfer-Encoding: quoted-printable', '', '=ED=A0=80'),
      'bytes that are not utf-8',
    ],
    [
      'an unknown encoding',
      typed('text/plain', 'Content-Transfer-Encoding: x-uuencode', '', 'a'),
      'transfer encoding of a text/plain part is not known',
    ],
    [
      'an encoded multipart',
      typed('multipart/mixed; boundary=b', 'Content-Transfer-Encoding: base64', '', '--b', '', 'a', '--b--'),
      'must not be encoded as base64',
    ],
    ['no boundary', typed('multipart/mixed', '', 'a'), 'no valid boundary'],
    ['no parts', typed('multipart/mixed; boundary=b', '', 'a'), 'has no parts'],
    ['a type that is none', typed('html', '', 'a'), 'A Content-Type is not a media type'],
    ['two types', typed('text/plain', 'Content-Type: text/html', '', 'a'), 'Content-Type is there more than once'],
    [
      'very many parts',
      multipart('mixed', ...Array.from({ length: 13 }, () => part('image/png', 'a'))),
      '5.6.1 The message has more than 10 attachments',
    ],
    ['a long Content-Type', typed(`text/plain; a=${'a'.repeat(4_096)}`, '', 'a'), 'Content-Type is longer than 4096'],
    [
      'a long Content-Disposition',
      typed('text/plain', file('a'.repeat(4_096)), '', 'a'),
      'Content-Disposition is longer than 4096',
    ],
  ])('%s is refused in words', (_name, message, sentence) => {
    expect(() => body(message)).toThrow(sentence)
  })

  test.each([
    ['two padded segments', 'YQ==Yg=='],
    ['a cut group', 'YWJjZ'],
    ['a cut padding', 'YQ='],
    ['no padding', 'YQ'],
    ['too much padding', 'Y==='],
    ['other characters', 'YW-j'],
    ['a line of text after it', 'YWJj\r\n-- sent by a list'],
  ])('base64 with %s is refused, as a text and as a file: it would be cut', (_name, written) => {
    const encoding = 'Content-Transfer-Encoding: base64'
    const files = multipart('mixed', part('text/plain', 'Hi'), part('image/png', written, file('a.png'), encoding))
    expect(() => body(typed('text/plain', encoding, '', written))).toThrow('The text/plain part is not valid base64')
    expect(() => body(files)).toThrow('5.6.0 The image/png part is not valid base64')
  })

  test('base64 may be broken into lines at any place', () => {
    const written = [' YW', 'JjZA=', '=\t', '', '']
    expect(body(typed('text/plain', 'Content-Transfer-Encoding: base64', '', ...written)).text).toBe('abcd')
  })

  test.each([
    ['a message', typed('multipart/mixed; boundary=b', '', '--b', '', 'Hi', '--b', ...part('image/png', 'a'))],
    ['a part', multipart('mixed', ['Content-Type: multipart/related; boundary=c', '', '--c', '', 'Hi'])],
  ])('%s without its closing boundary is refused: its end is missing', (_name, message) => {
    expect(() => body(message)).toThrow('5.6.0 A multipart ends without its closing boundary')
  })

  test('a deep nest of parts is refused, not followed', () => {
    const levels = Array.from({ length: 50 }, (_, level) => level)
    const begin = levels.flatMap(level => [`Content-Type: multipart/mixed; boundary=b${level}`, '', `--b${level}`])
    const end = levels.toReversed().map(level => `--b${level}--`)
    expect(() => body(lines(...HEAD, ...begin, '', 'a', ...end))).toThrow('nested more than 10 deep')
  })

  test.each([
    ['a boundary that fills a line', '--b'.repeat(5_000_000)],
    ['lines that begin like the boundary', '\r\n--bc'.repeat(2_000_000)],
    ['empty parts', '\r\n--b'.repeat(3_000_000)],
    ['escapes only', '=41'.repeat(5_000_000)],
  ])('%s: a message of 16 MB takes little time, whatever is in it', (_name, text) => {
    const spentMs = processorTime()
    const part = ['--b', 'Content-Transfer-Encoding: quoted-printable', 'Content-Type: image/png', '', text]
    try {
      body(typed('multipart/mixed; boundary=b', '', ...part, '--b--'))
    } catch (error) {
      expect(error).toBeInstanceOf(Refused)
    }
    expect(spentMs()).toBeLessThan(3_000)
  })

  test.each([
    ['a soft line break', 'a=\r\nb', 'ab'],
    ['spaces at the end of a line', 'a \t\r\nb=20\r\nc', 'a\nb \nc'],
    ['an escape that is none', 'a=ZZ=4', 'a=ZZ=4'],
    ['small digits', '=c3=a1', 'á'],
    ['a soft line break after an escape', '=C3=\r\n=A1 =\r\n=20', 'á  '],
  ])('quoted-printable: %s', (_name, written, decoded) => {
    expect(body(typed('text/plain', 'Content-Transfer-Encoding: quoted-printable', '', `${written}!`)).text).toBe(
      `${decoded}!`,
    )
  })

  describe('parameters in charsets that are slow to decode', () => {
    const parameters = (chars: number) => {
      const count = Math.floor(chars / 20)
      return Array.from({ length: count }, (_, i) => `; a${i}*0*=gb18030''x`).join('')
    }
    const image = (slow: string) =>
      part(`image/png${slow}`, 'a', `Content-Disposition: attachment; filename=a.png${slow}`)

    test('very many parts are refused before their parameters are read', () => {
      const spentMs = processorTime()
      const parts = Array.from({ length: 97 }, () => image(parameters(15_000)))
      expect(() => body(multipart('mixed', ...parts))).toThrow('5.6.1 The message has more than 10 attachments')
      expect(spentMs()).toBeLessThan(500)
    })

    test('as many as a message may have take little time', () => {
      const slow = parameters(3_900)
      const nested = Array.from({ length: 10 }, (_, branch) => {
        const names = Array.from({ length: 8 }, (_, level) => `c${branch}-${level}`)
        const begin = names.flatMap(name => [`Content-Type: multipart/mixed; boundary=${name}${slow}`, '', `--${name}`])
        return [...begin, ...image(slow), ...names.toReversed().map(name => `--${name}--`)]
      })
      const message = multipart('mixed', ...nested)
      const spentMs = processorTime()
      expect(body(message).attachments).toHaveLength(10)
      expect(spentMs()).toBeLessThan(1_000)
    })
  })

  test.each(['From', 'Reply-To'])('quotation marks that nothing closes take no time in %s', name => {
    const headers = name === 'From' ? [] : [HEAD[0]!]
    const message = lines(...headers, `${name}: ${'\\"'.repeat(8_000)}`, HEAD[1]!, '', 'Hi')
    const spentMs = processorTime()
    for (let n = 0; n < 100; n++) expect(() => body(message)).toThrow(`The header ${name}`)
    expect(spentMs()).toBeLessThan(2_000)
  })

  test('hostile header values take no time', () => {
    const spentMs = processorTime()
    const values = [
      '=?a?b?'.repeat(2_600),
      '=?utf-8?q?=?='.repeat(1_200),
      '<@'.repeat(8_000),
      '('.repeat(16_000),
      '";='.repeat(5_000),
    ]
    for (const value of values) {
      for (const name of ['To', 'Subject', 'X-A', 'Content-Type', 'Content-Disposition', 'Reply-To']) {
        try {
          body(lines('From: shop@sender.test', `${name}: ${value}`, '', 'Hi'))
        } catch (error) {
          expect(error).toBeInstanceOf(Refused)
        }
      }
    }
    expect(spentMs()).toBeLessThan(3_000)
  })
})
