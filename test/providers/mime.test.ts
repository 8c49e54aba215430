import { simpleParser } from 'mailparser'
import { describe, expect, test } from 'vitest'
import { composeMime, encodedAddress, mailboxOf } from '../../src/providers/mime.ts'
import { providerTags } from '../../src/providers/provider.ts'
import { file, message } from './message.ts'

const headOf = (mime: Buffer) => mime.toString('latin1').split('\r\n\r\n', 1)[0]!
/** Every header of the message and of its parts, unfolded. */
const headerNames = (mime: Buffer) =>
  [...mime.toString('latin1').matchAll(/^([A-Za-z-]+): /gm)].map(match => match[1]!.toLowerCase())

describe('the message', () => {
  test('reads as it was written, in every script', async () => {
    const parsed = await simpleParser(
      await composeMime(
        message({
          from: 'José da Silva <jose@acme.test>',
          to: ['"Müller, \\"Sø\\" \\\\" <soren@example.com>', '日本 <nihon@example.com>'],
          cc: ['cc@example.com'],
          replyTo: ['Ajuda ✉ <help@acme.test>'],
          subject: `Olá, 日本 🎉 ${'é'.repeat(120)}`,
          text: 'Ação: 日本\nsegunda linha',
          html: '<p>Ação: 日本</p>',
        }),
      ),
    )
    expect(parsed.subject).toBe(`Olá, 日本 🎉 ${'é'.repeat(120)}`)
    expect(parsed.from!.value).toEqual([{ address: 'jose@acme.test', name: 'José da Silva' }])
    expect(parsed.to!.value).toEqual([
      { address: 'soren@example.com', name: 'Müller, "Sø" \\' },
      { address: 'nihon@example.com', name: '日本' },
    ])
    expect(parsed.replyTo!.value[0]!.name).toBe('Ajuda ✉')
    expect(parsed.text).toContain('Ação: 日本\nsegunda linha')
    expect(parsed.html).toContain('<p>Ação: 日本</p>')
  })

  test('is seven-bit with short lines, whatever it holds', async () => {
    const long = 'ação '.repeat(50_000)
    const mime = (await composeMime(message({ text: long, html: `<p>${long}</p>` }))).toString('latin1')
    expect(mime).not.toMatch(/[^\r\n\t\x20-\x7e]|[^\r]\n|\r[^\n]/)
    expect(Math.max(...mime.split('\r\n').map(line => line.length))).toBeLessThanOrEqual(998)
  })

  test('has its inline images beside the HTML and its files at the end', async () => {
    const pixel = Buffer.from('89504e470d0a1a0a', 'hex')
    const mime = await composeMime(
      message({
        html: '<img src="cid:logo@acme">',
        attachments: [
          file({
            filename: 'logo.png',
            contentType: 'image/png',
            contentId: 'logo@acme',
            base64: pixel.toString('base64'),
          }),
          file({ filename: 'relatório – março.pdf', contentType: 'application/pdf' }),
          file({ filename: 'old.eml', contentType: 'message/rfc822' }),
        ],
      }),
    )
    const parsed = await simpleParser(mime, { skipImageLinks: true })
    expect(parsed.attachments).toMatchObject([
      { filename: 'logo.png', contentType: 'image/png', cid: 'logo@acme', contentDisposition: 'inline', related: true },
      { filename: 'relatório – março.pdf', contentType: 'application/pdf', contentDisposition: 'attachment' },
      { contentType: 'message/rfc822', contentDisposition: 'attachment' },
    ])
    expect(parsed.attachments[0]!.content).toEqual(pixel)
    expect(mime.toString()).toMatch(/multipart\/mixed[\s\S]*multipart\/alternative[\s\S]*multipart\/related/)
  })

  test.each([
    ['as it is', 'From: a@b.test\r\n\r\nHi\r\n', /message\/rfc822; name=old.eml\r\nContent-Transfer-Encoding: 7bit/],
    [
      'of no known type',
      'Subject: ação\r\n\r\nHi\r\n',
      /octet-stream; name=old.eml\r\nContent-Transfer-Encoding: base64/,
    ],
    ['of no known type', `X: y\r\n\r\n${'x'.repeat(999)}\r\n`, /octet-stream; name=old.eml/],
  ])('an attached message goes %s', async (_how, eml, expected) => {
    const base64 = Buffer.from(eml).toString('base64')
    const attachments = [file({ filename: 'old.eml', contentType: 'message/rfc822', base64 })]
    expect((await composeMime(message({ attachments }))).toString()).toMatch(expected)
  })

  test('carries the sender’s headers, and cannot have ours replaced', async () => {
    const mime = await composeMime(
      message({
        headers: { 'List-Unsubscribe': '<https://acme.test/u?x=1>', 'X-Nota': 'ação', 'Message-ID': '<forged@x>' },
      }),
    )
    const parsed = await simpleParser(mime)
    expect(headOf(mime)).toContain('List-Unsubscribe: <https://acme.test/u?x=1>')
    expect(headOf(mime)).toContain('X-Nota: =?UTF-8?B?YcOnw6Nv?=')
    expect(parsed.messageId).not.toContain('forged')
  })

  test('reads no file and asks no address, whatever it is given', async () => {
    const hostile = { path: '/etc/hostname' } as unknown as string
    await expect(composeMime(message({ text: hostile, html: null }))).rejects.toThrow(/file access/i)
  })
})

describe('a line break in a value opens no header', () => {
  const EVIL = 'x\r\nBcc: evil@example.com\r\nX-Evil: 1\n\r\nbody'
  const clean = async (change: Parameters<typeof message>[0]) => {
    const names = headerNames(await composeMime(message(change)))
    expect(names).not.toContain('x-evil')
    expect(names).not.toContain('bcc')
  }

  test.each([
    ['the subject', { subject: EVIL }],
    ['a header', { headers: { 'X-A': EVIL } }],
    ['the name of a header', { headers: { 'X-A: 1\r\nX-Evil': '1' } }],
    ['the sender’s name', { from: `"${EVIL}" <a@acme.test>` }],
    ['the sender’s address', { from: `a@acme.test\r\nX-Evil: 1` }],
    ['a recipient’s name', { to: [`"${EVIL}" <a@example.com>`] }],
    ['a recipient’s address', { to: ['a@example.com\r\nX-Evil: 1'] }],
    ['a cc', { cc: [`${EVIL} <a@example.com>`] }],
    ['a reply address', { replyTo: [`<${EVIL}@example.com>`] }],
    ['a file’s name', { attachments: [file({ filename: EVIL })] }],
    ['a file’s type', { attachments: [file({ contentType: `text/plain\r\nX-Evil: 1` })] }],
    ['a file’s id', { attachments: [file({ contentId: EVIL })] }],
    ['the attempt’s id', { attemptId: EVIL }],
  ])('in %s', async (_, change) => clean(change))

  test('nor adds an address for SES', () => {
    expect(encodedAddress(`"${EVIL}" <a@example.com>`)).not.toMatch(/[\r\n]/)
    expect(encodedAddress('a@example.com\r\nBcc: evil@example.com')).not.toMatch(/[\r\n]/)
  })
})

test('an address is taken apart as it was put together', () => {
  expect(mailboxOf('a@b.test')).toEqual({ name: '', address: 'a@b.test' })
  expect(mailboxOf('<a@b.test>')).toEqual({ name: '', address: 'a@b.test' })
  expect(mailboxOf('Ana <a@b.test>')).toEqual({ name: 'Ana', address: 'a@b.test' })
  expect(mailboxOf('"A <x@y> \\"B\\"" <a@b.test>')).toEqual({ name: 'A <x@y> "B"', address: 'a@b.test' })
  expect(encodedAddress('"Silva, Ana" <a@b.test>')).toBe('"Silva, Ana" <a@b.test>')
})

test('tags keep to the letters providers allow, and ours stay ours', () => {
  const tags = ['a:b', 'ção é', 'a=other', 'attempt_id:x', '日本', 'k:日本', 'x'.repeat(300), ':', '=v']
  const own = providerTags(message({ tags })).slice(2)
  expect(own).toEqual([
    { name: 'a', value: 'b' },
    { name: 'cao_e', value: 'true' },
    { name: '_', value: 'true' },
    { name: 'k', value: '_' },
    { name: 'x'.repeat(256), value: 'true' },
    { name: '_v', value: 'true' },
  ])
  expect(providerTags(message({ tags: Array.from({ length: 90 }, (_, i) => `t${i}`) }))).toHaveLength(50)
})
