import { createTransport, type SendMailOptions } from 'nodemailer'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hashEmail } from '../../../src/platform/text/hashing.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../../support/gateway.ts'
import { captured, keptOf, NOTHING_KEPT, read, rows, untilStatus } from '../../support/mail.ts'
import { plainMessage, type SmtpClient, smtpClient } from '../../support/smtp-client.ts'

const PNG = Buffer.from('89504e470d0a1a0a', 'hex')
const INVITE = 'BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nEND:VCALENDAR\r\n'

let gateway: TestGateway
let company: TestCompany
let port: number

beforeAll(async () => {
  gateway = await startTestGateway({ env: { SMTP_INGRESS_PORT: '0' } })
  company = await gateway.company()
  port = gateway.smtpPort!
})
afterAll(() => gateway.stop())

/** As an application does it; the outbox id is in the reply. */
async function deliver(message: SendMailOptions, by = company) {
  const transport = createTransport({ host: '127.0.0.1', port, secure: false, auth: { user: 'x', pass: by.apiKey } })
  const { response } = await transport.sendMail({ from: 'Shop <shop@sender.test>', text: 'Hi', ...message })
  const outboxId = /^250 2\.0\.0 queued as ([0-9a-f-]{36})/.exec(response)?.[1]
  if (!outboxId) throw new Error(response)
  return outboxId
}

async function loggedIn(by = company): Promise<SmtpClient> {
  const client = await smtpClient(port)
  expect(await client.logIn(by.apiKey)).toMatchObject({ code: 235 })
  return client
}

async function submit(message: string | Buffer, recipients = ['maria@example.com'], by = company) {
  const client = await loggedIn(by)
  const reply = await client.send(recipients, message)
  client.socket.destroy()
  return reply
}

describe('a message by nodemailer', () => {
  test('arrives with its recipients, files, inline image, calendar invite and options, and bcc stays secret', async () => {
    const outboxId = await deliver({
      to: ['"Silva, Maria" <maria@example.com>', 'joão <joao@example.com>'],
      cc: 'ana@example.com',
      bcc: 'secret@example.com',
      replyTo: 'help@sender.test',
      subject: 'Olá, seu pedido está a caminho 📦',
      text: 'Olá Maria',
      html: '<p>Olá <img src="cid:logo@shop"></p>',
      icalEvent: { method: 'REQUEST', content: INVITE },
      attachments: [
        { filename: 'logo.png', content: PNG, cid: 'logo@shop' },
        { filename: 'relatório.pdf', content: 'pdf' },
      ],
      headers: { 'X-Gateway-Tags': 'order, paid', 'X-Gateway-External-Id': 'order-7', 'X-Campaign': 'spring' },
    })
    await untilStatus(gateway, company, outboxId, 'SENT')
    expect(await read(gateway, company, outboxId)).toMatchObject({
      ...{ externalId: 'order-7', tags: ['order', 'paid'], subject: 'Olá, seu pedido está a caminho 📦' },
      ...{ from: 'Shop <shop@sender.test>', cc: ['ana@example.com'], bcc: ['secret@example.com'] },
    })
    const message = await captured(gateway, outboxId)
    expect(message).toMatchObject({
      to: ['"Silva, Maria" <maria@example.com>', '"joão" <joao@example.com>'],
      ...{ cc: ['ana@example.com'], bcc: ['secret@example.com'], replyTo: ['help@sender.test'] },
      text: expect.stringContaining('Olá Maria'),
      html: expect.stringContaining('cid:logo@shop'),
    })
    expect(message.headers).toEqual({ 'X-Campaign': 'spring' })
    const files = await rows(
      gateway,
      'select filename, content_type, content_id, content from email_attachments where outbox_id = $1 order by ordinal',
      [outboxId],
    )
    expect(files.map(one => [one.filename, one.content_type, one.content_id])).toEqual(
      expect.arrayContaining([
        ['logo.png', 'image/png', 'logo@shop'],
        ['relatório.pdf', 'application/pdf', null],
        ['invite.ics', expect.stringMatching(/^text\/calendar;.*method=REQUEST/), null],
      ]),
    )
    expect(files.find(one => one.filename === 'logo.png').content).toEqual(PNG)
  })

  test('with an Idempotency-Key is accepted once, and with another content refused', async () => {
    const headers = { 'Idempotency-Key': 'smtp-1' }
    const first = await deliver({ to: 'maria@example.com', subject: 'Once', headers })
    expect(await deliver({ to: 'maria@example.com', subject: 'Once', headers })).toBe(first)
    await expect(deliver({ to: 'maria@example.com', subject: 'Twice', headers })).rejects.toThrow(
      '550 5.6.0 This Idempotency-Key was used with another message',
    )
  })

  test('with a comment beside its unsubscribe link arrives with the link', async () => {
    const unsubscribe = { url: 'https://shop.test/u', comment: 'Leave (all) lists' }
    const outboxId = await deliver({ to: 'maria@example.com', subject: 'List', list: { unsubscribe } })
    await untilStatus(gateway, company, outboxId, 'SENT')
    const { headers } = await captured(gateway, outboxId)
    expect(Object.values(headers)).toEqual(['<https://shop.test/u>'])
  })

  test('of several MB arrives whole', async () => {
    const content = Buffer.alloc(7 * 1024 * 1024, 'x')
    const outboxId = await deliver({
      to: 'maria@example.com',
      subject: 'Big',
      attachments: [{ filename: 'a.bin', content }],
    })
    const [{ length }] = await rows(gateway, 'select length(content) from email_attachments where outbox_id = $1', [
      outboxId,
    ])
    expect(length).toBe(content.length)
  })
})

describe('refusals keep nothing and say why', () => {
  let strict: TestCompany
  beforeAll(async () => {
    strict = await gateway.company({ fromDomains: ['allowed.test'] })
  })

  test.each([
    ['a sender of another domain', plainMessage(), '550 5.7.1 FROM_NOT_ALLOWED: from: '],
    ['no subject', plainMessage().replace('Subject: Hello\r\n', ''), '550 5.6.0 INVALID_PAYLOAD: subject: is required'],
    [
      'a script',
      plainMessage('Content-Type: text/html')
        .replace('Hi', '<script>1</script>')
        .replace(/^From: .*$/m, 'From: a@allowed.test'),
      '550 5.6.0 INVALID_TEMPLATE: html: ',
    ],
    [
      'a script from another domain',
      plainMessage('Content-Type: text/html').replace('Hi', '<script>1</script>'),
      '550 5.6.0 INVALID_PAYLOAD: html: <script> is not allowed (HTML_SCRIPT); from: ',
    ],
    [
      'a header of a provider',
      plainMessage('X-SES-Configuration-Set: a'),
      '550 5.6.0 INVALID_PAYLOAD: headers.X-SES-Configuration-Set: ',
    ],
    ['a wrong option', plainMessage('X-Gateway-Retry-Policy: often'), '550 5.6.0 INVALID_PAYLOAD: retryPolicy: '],
    [
      'a signed message',
      plainMessage('Content-Type: multipart/signed; boundary=b').replace('Hi Maria', '--b\r\n\r\nHi\r\n--b--'),
      '554 5.6.1 Signed and',
    ],
    ['a bare line feed', plainMessage().replace('Hi', 'Hi\n'), '554 5.6.0 The message has a bare CR or LF'],
    ['a bare carriage return', plainMessage().replace('Hi', 'Hi\r'), '554 5.6.0 The message has a bare CR or LF'],
    ['a NUL', plainMessage().replace('Hi', 'Hi\0'), '554 5.6.0 The message has a NUL'],
    [
      'an encoded NUL',
      plainMessage('Content-Transfer-Encoding: quoted-printable').replace('Hi', 'Hi=00'),
      '554 5.6.0 The text/plain part has a NUL character',
    ],
    [
      'an encoded NUL in the subject',
      plainMessage().replace('Hello', '=?utf-8?B?YQBi?='),
      '554 5.6.0 The header Subject has a NUL character',
    ],
    [
      'a NUL in the name of a file',
      plainMessage(`Content-Disposition: attachment; filename*=utf-8''a%00b.txt`),
      '550 5.6.0 INVALID_PAYLOAD: ',
    ],
    [
      'half of a surrogate pair in the name of a file',
      plainMessage(`Content-Disposition: attachment; filename*=utf-16le''%00%D8`),
      '550 5.6.0 INVALID_PAYLOAD: ',
    ],
  ])('%s', async (_name, message, reply) => {
    expect((await submit(message, undefined, strict)).text).toContain(reply)
    expect(await keptOf(gateway, strict.companyId)).toEqual(NOTHING_KEPT)
  })

  test('a suppressed recipient is named by its hash only', async () => {
    const hash = hashEmail('no@example.com')
    await rows(gateway, `insert into suppression_list (email_hash, reason) values ($1, 'MANUAL')`, [hash])
    const { text } = await submit(plainMessage().replace('maria@example.com', 'no@example.com'), ['no@example.com'])
    expect(text).toBe(`550 5.7.1 Recipient is on suppression list (${hash})`)
  })

  test('a suppressed cc or bcc is left out, and the reply says so', async () => {
    const hash = hashEmail('gone@example.com')
    await rows(gateway, `insert into suppression_list (email_hash, reason) values ($1, 'MANUAL')`, [hash])
    const { text } = await submit(plainMessage('Cc: gone@example.com'), ['maria@example.com', 'gone@example.com'])
    expect(text).toMatch(/^250 2\.0\.0 queued as \S+; 1 suppressed left out$/)
  })

  test('too large, announced or not', async () => {
    const client = await loggedIn()
    expect((await client.say(`MAIL FROM:<a@b.test> SIZE=${17 * 1024 * 1024}`)).code).toBe(552)
    const huge = Buffer.alloc(17 * 1024 * 1024, `${'x'.repeat(76)}\r\n`)
    expect((await client.send(['maria@example.com'], huge)).text).toBe(
      '552 5.3.4 The message is larger than 16777216 bytes',
    )
    expect((await client.send(['maria@example.com'], plainMessage())).code).toBe(250)
    client.socket.destroy()
  })

  test('a recipient that is none, and one too many', async () => {
    const client = await loggedIn()
    await client.say('MAIL FROM:<a@b.test>')
    expect((await client.say('RCPT TO:<maria@localhost>')).text).toMatch(/^553 5\.1\.3 The e-mail address /)
    for (let i = 0; i < 60; i++) expect((await client.say(`RCPT TO:<r${i}@example.com>`)).code).toBe(250)
    expect((await client.say('RCPT TO:<r60@example.com>')).text).toBe(
      '452 4.5.3 A message may have at most 60 recipients',
    )
    client.socket.destroy()
  })

  test('the 51st recipient in To', async () => {
    const many = Array.from({ length: 51 }, (_, i) => `r${i}@example.com`)
    const naming = (to: string[]) => plainMessage().replace('maria@example.com', to.join(', '))
    expect((await submit(naming(many), many)).text).toBe(
      '550 5.6.0 INVALID_PAYLOAD: to: must have at most 50 items, has 51',
    )
    expect((await submit(naming(many.slice(1)), many.slice(1))).code).toBe(250)
  })

  test('more than the rate of the company', async () => {
    const slow = await gateway.company({ ratePerSecond: 1 })
    const client = await loggedIn(slow)
    expect((await client.send(['maria@example.com'], plainMessage())).code).toBe(250)
    const replies = [
      await client.say('MAIL FROM:<a@b.test>'),
      await client.say('RSET'),
      await client.say('MAIL FROM:<a@b.test>'),
    ]
    expect(replies.map(one => one.text).join()).toContain('451 4.7.1 This company may send 1 e-mails a second')
    client.socket.destroy()
  })
})

describe('the protocol', () => {
  test('offers SIZE, PIPELINING, 8BITMIME, SMTPUTF8 and AUTH, and no STARTTLS without a certificate', async () => {
    const client = await smtpClient(port)
    const { text } = await client.say('EHLO client.test')
    for (const feature of ['SIZE 16777216', 'PIPELINING', '8BITMIME', 'SMTPUTF8', 'AUTH PLAIN LOGIN'])
      expect(text).toContain(feature)
    expect(text).not.toContain('STARTTLS')
    for (const joke of ['WIZ now', 'SHELL', 'KILL']) expect((await client.say(joke)).code).toBe(500)
    client.socket.destroy()
  })

  test('a whole session in one packet is answered in order', async () => {
    const client = await loggedIn()
    client.write('MAIL FROM:<a@b.test>\r\nRCPT TO:<maria@example.com>\r\nDATA\r\n')
    expect([(await client.reply()).code, (await client.reply()).code, (await client.reply()).code]).toEqual([
      250, 250, 354,
    ])
    client.write(`${plainMessage()}\r\n.\r\nMAIL FROM:<a@b.test>\r\nQUIT\r\n`)
    expect([(await client.reply()).code, (await client.reply()).code, (await client.reply()).code]).toEqual([
      250, 250, 221,
    ])
    await client.closed
  })

  test('a flood of commands before AUTH ends the connection', async () => {
    const client = await smtpClient(port)
    client.write('NOOP\r\n'.repeat(10_000))
    const replies: string[] = []
    for (let i = 0; i < 10; i++) replies.push((await client.reply()).text)
    expect(replies.at(-1)).toMatch(/^421 Error: too many unauthenticated commands/)
    client.socket.end()
    await client.closed
  })

  test.each(['\n.\n', '\r.\r', '\n.\r\n', '\r\n.\n', '\r.\r\n'])(
    'a second message hidden behind %j does not become one',
    async end => {
      const by = await gateway.company()
      const smuggled = `${end}MAIL FROM:<evil@b.test>\r\nRCPT TO:<victim@example.com>\r\nDATA\r\n${plainMessage()}`
      expect((await submit(plainMessage() + smuggled, undefined, by)).text).toContain(
        '554 5.6.0 The message has a bare CR or LF',
      )
      expect(await keptOf(gateway, by.companyId)).toEqual(NOTHING_KEPT)
    },
  )

  test('dots at the beginning of lines survive, wherever the packets end', async () => {
    const client = await loggedIn()
    for (const command of ['MAIL FROM:<a@b.test>', 'RCPT TO:<maria@example.com>', 'DATA']) await client.say(command)
    for (const piece of [plainMessage(), '\r', '\n.', '.', '\r\n..', '.x\r\n', '.']) {
      client.write(piece)
      await new Promise(resolve => setTimeout(resolve, 5))
    }
    const { text } = await client.say('')
    const outboxId = /queued as (\S+)/.exec(text)![1]!
    const [{ text: kept }] = await rows(gateway, 'select text from email_content where outbox_id = $1', [outboxId])
    expect(kept).toBe('Hi Maria\n.\n..x\n')
    client.socket.destroy()
  })

  test('a client that leaves in the middle of its message leaves nothing', async () => {
    const by = await gateway.company()
    const client = await loggedIn(by)
    for (const command of ['MAIL FROM:<a@b.test>', 'RCPT TO:<maria@example.com>', 'DATA']) await client.say(command)
    client.write(plainMessage())
    client.socket.destroy()
    expect((await submit(plainMessage(), undefined, by)).code).toBe(250)
    expect(await keptOf(gateway, by.companyId)).toMatchObject({ email_outbox: 1 })
  })

  test('accepted and refused messages are counted', async () => {
    await submit(plainMessage())
    await submit(plainMessage('what'))
    const metrics = await until(
      async () => (await gateway.call(null, 'GET', '/metrics')).text,
      text => /smtp_messages_total\{outcome="refused"\}/.test(text),
    )
    expect(metrics).toMatch(/smtp_messages_total\{outcome="accepted"\} \d+/)
  })

  test('neither addresses nor keys are logged', async () => {
    await submit(plainMessage())
    expect(gateway.logs()).toContain('SMTP message accepted')
    expect(gateway.logs()).not.toMatch(/maria@example\.com|sk_live_/)
  })
})
