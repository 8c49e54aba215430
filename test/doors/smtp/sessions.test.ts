import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { createTransport } from 'nodemailer'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { revokeKey } from '../../../src/companies/keys.ts'
import { startSmtp } from '../../../src/doors/smtp/server.ts'
import { loadConfig } from '../../../src/settings/config.ts'
import { type Certificates, makeCertificates } from '../../support/certificates.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../../support/gateway.ts'
import { keptOf } from '../../support/mail.ts'
import { SHARED_SECRETS } from '../../support/secrets.ts'
import { plainMessage, type SmtpClient, smtpClient } from '../../support/smtp-client.ts'
import { startTestSmtp, type TestSmtp, type TestSmtpOptions } from '../../support/smtp-server.ts'

/** Of this machine, but not of its loopback interface. */
function otherAddress(): string {
  const all = Object.values(networkInterfaces()).flat()
  const found = all.find(one => one && one.family === 'IPv4' && !one.internal)
  if (!found)
    throw new Error('This machine has no network interface but loopback; connect it to a network to run this test.')
  return found.address
}

let gateway: TestGateway
let company: TestCompany
let certificates: Certificates

beforeAll(async () => {
  certificates = await makeCertificates('DNS:localhost')
  gateway = await startTestGateway({ role: 'api' })
  company = await gateway.company()
})
afterAll(async () => {
  await gateway.stop()
  await certificates.remove()
})

/** A server for one test. */
async function withServer(options: TestSmtpOptions, use: (server: TestSmtp) => Promise<void>): Promise<void> {
  const server = await startTestSmtp(gateway, options)
  try {
    await use(server)
  } finally {
    await server.stop()
  }
}

const tls = (mode: 'starttls' | 'implicit') => ({ mode, certificate: certificates.certificate, key: certificates.key })

async function loggedIn(port: number): Promise<SmtpClient> {
  const client = await smtpClient(port)
  expect(await client.logIn(company.apiKey)).toMatchObject({ code: 235 })
  return client
}

async function inData(port: number): Promise<SmtpClient> {
  const client = await loggedIn(port)
  for (const command of ['MAIL FROM:<a@b.test>', 'RCPT TO:<maria@example.com>', 'DATA']) await client.say(command)
  return client
}

describe('TLS', () => {
  test.each(['starttls', 'implicit'] as const)('nodemailer delivers with %s', mode =>
    withServer({ tls: tls(mode) }, async ({ port }) => {
      const ca = await readFile(certificates.authorityFile, 'utf8')
      const transport = createTransport({
        ...{ host: '127.0.0.1', port, secure: mode === 'implicit', requireTLS: true },
        tls: { ca, servername: 'localhost' },
        auth: { user: 'x', pass: company.apiKey },
      })
      const { response } = await transport.sendMail({
        from: 'a@b.test',
        to: 'maria@example.com',
        subject: 'Hello',
        text: 'Hi',
      })
      expect(response).toMatch(/^250 2\.0\.0 queued as /)
    }),
  )

  test('commands sent in clear text behind STARTTLS are not run inside TLS', () =>
    withServer({ tls: tls('starttls') }, async ({ port }) => {
      const client = await smtpClient(port)
      await client.say('EHLO client.test')
      client.write('STARTTLS\r\nRSET\r\nMAIL FROM:<evil@b.test>\r\n')
      expect((await client.reply()).code).toBe(220)
      client.socket.removeAllListeners('data')
      const secure = connectTls({ socket: client.socket, servername: 'localhost', ca: [], rejectUnauthorized: false })
      await once(secure, 'secureConnect')
      secure.write('NOOP\r\n')
      const [first] = await once(secure, 'data')
      expect(String(first)).toBe('250 OK\r\n')
      secure.destroy()
    }))

  test('from another address there is no AUTH and no MAIL in clear text', () =>
    withServer({ tls: tls('starttls'), host: '0.0.0.0' }, async ({ port }) => {
      const client = await smtpClient(port, otherAddress())
      const { text } = await client.say('EHLO client.test')
      expect(text).toContain('STARTTLS')
      expect(text).not.toContain('AUTH')
      expect((await client.say('AUTH PLAIN AGEAYg==')).code).toBe(500)
      expect((await client.say('MAIL FROM:<a@b.test>')).text).toBe('530 5.7.0 STARTTLS is required first')
      client.socket.destroy()
    }))
})

describe('a certificate that cannot be used stops the start', () => {
  const start = (env: Record<string, string>) =>
    startSmtp(
      loadConfig({ DATABASE_URL: gateway.databaseUrl, SMTP_INGRESS_PORT: '0', ...SHARED_SECRETS, ...env }),
      {} as never,
    )

  test('a file that is not there', async () => {
    const env = { SMTP_TLS_CERT: '/nowhere/cert.pem', SMTP_TLS_KEY: '/nowhere/key.pem' }
    await expect(start(env)).rejects.toThrow('Bad setting. SMTP_TLS_CERT: /nowhere/cert.pem cannot be read')
  })

  test('a file that is something else', async () => {
    const file = join(import.meta.dirname, 'sessions.test.ts')
    const env = { SMTP_TLS_CERT: file, SMTP_TLS_KEY: file }
    await expect(start(env)).rejects.toThrow(
      'Bad setting. SMTP_TLS_CERT, SMTP_TLS_KEY: are no certificate with its key',
    )
  })
})

describe('AUTH', () => {
  test('needs a key that exists, is not revoked and may send', () =>
    withServer({}, async ({ port }) => {
      const reading = await gateway.key(company.companyId, { scopes: ['read'] })
      const client = await smtpClient(port)
      expect((await client.logIn(company.apiKey.slice(0, -1))).text).toBe(
        '535 5.7.8 The API key is missing or unknown: give it as the password',
      )
      expect((await client.logIn(reading.apiKey)).text).toBe(
        '535 5.7.8 This API key has the scopes read; this needs send',
      )
      expect((await client.say('MAIL FROM:<a@b.test>')).text).toMatch(/^530 5\.7\.0 AUTH is required/)
      await client.say('AUTH LOGIN')
      await client.say(Buffer.from('anyone').toString('base64'))
      expect((await client.say(Buffer.from(company.apiKey).toString('base64'))).code).toBe(235)
      client.socket.destroy()
    }))

  test('guesses are slowed down and disconnected, and a valid key is not', () =>
    withServer({}, async ({ port }) => {
      const guesser = await smtpClient(port)
      const replies: number[] = []
      for (let guess = 0; guess < 10 && !replies.includes(421); guess++)
        replies.push((await guesser.logIn('sk_live_guess')).code)
      expect(replies).toEqual([535, 535, 535, 535, 535, 535, 421])
      await guesser.closed
      const client = await loggedIn(port)
      client.socket.destroy()
    }))

  test('a revoked key ends its open session within a second', () =>
    withServer({}, async ({ port }) => {
      const { keyId, apiKey } = await gateway.key(company.companyId, { scopes: ['send'] })
      const client = await smtpClient(port)
      await client.logIn(apiKey)
      expect((await client.say('MAIL FROM:<a@b.test>')).code).toBe(250)
      await revokeKey(gateway.db.pool, keyId)
      const ask = async () => {
        const reset = await client.say('RSET')
        return reset.code === 250 ? client.say('MAIL FROM:<a@b.test>') : reset
      }
      const { text } = await until(ask, ({ code }) => code !== 250, 2_000)
      expect(text).toBe('421 4.7.0 The API key has been revoked')
    }))
})

describe('limits', () => {
  test('connections of one address', () =>
    withServer({ limits: { connectionsPerNetwork: 2 } }, async ({ port }) => {
      const [first, second] = [await smtpClient(port), await smtpClient(port)]
      const third = connect(port, '127.0.0.1')
      const [refusal] = await once(third, 'data')
      expect(String(refusal)).toBe('421 4.7.0 Too many connections from this address\r\n')
      first.socket.destroy()
      await first.closed
      // The server learns of the end a moment later.
      const again = await until(
        () => smtpClient(port).catch(() => null),
        client => client !== null,
      )
      for (const client of [second, again!]) client.socket.destroy()
    }))

  test('a client that does not log in is ended, however busy it is', () =>
    withServer({ limits: { loginWithinMs: 300 } }, async ({ port }) => {
      const client = await smtpClient(port)
      const dribble = setInterval(() => client.write('N'), 20)
      expect((await client.reply()).text).toBe('421 4.4.2 No AUTH within the time allowed')
      clearInterval(dribble)
      client.socket.end()
      await client.closed
    }))

  test('a message that dribbles in is ended, and nothing of it is kept', () =>
    withServer({ limits: { arriveWithinMs: 300 } }, async ({ port }) => {
      const before = await keptOf(gateway, company.companyId)
      const client = await inData(port)
      const dribble = setInterval(() => client.write('x'), 20)
      expect((await client.reply()).text).toBe('421 4.4.2 The message did not arrive within 0.3 s')
      clearInterval(dribble)
      client.socket.end()
      await client.closed
      expect(await keptOf(gateway, company.companyId)).toEqual(before)
    }))

  test('memory: a large message waits for another, and is put off when that takes too long', () =>
    withServer(
      { limits: { memoryBytes: { total: 1_000_000, perKey: 1_000_000 }, maxBytes: 1_000_000, maxWaitMs: 200 } },
      async ({ port }) => {
        const large = Buffer.alloc(200_000, `${'x'.repeat(76)}\r\n`)
        const first = await inData(port)
        first.write(`${plainMessage()}\r\n`)
        first.write(large)
        // Nothing announced: it holds all of the memory from here on.
        await until(
          async () => first.socket.writableLength,
          length => length === 0,
        )
        const second = await loggedIn(port)
        expect(
          (await second.send(['maria@example.com'], Buffer.concat([Buffer.from(`${plainMessage()}\r\n`), large]))).text,
        ).toMatch(/^451 4\.3\.2 /)
        expect((await first.say('\r\n.')).code).toBe(250)
        expect(
          (await second.send(['maria@example.com'], Buffer.concat([Buffer.from(`${plainMessage()}\r\n`), large]))).code,
        ).toBe(250)
        for (const client of [first, second]) client.socket.destroy()
      },
    ))
})

describe('stopping', () => {
  test('lets a message under way finish, before and after its final dot, and ends idle connections', async () => {
    let committing = () => {}
    const began = new Promise<void>(resolve => {
      committing = resolve
    })
    let goOn = () => {}
    const held = new Promise<void>(resolve => {
      goOn = resolve
    })
    const server = await startTestSmtp(gateway, {
      beforeWrite: () => {
        committing()
        return held
      },
    })
    const idle = await loggedIn(server.port)
    const receiving = await inData(server.port)
    const written = await inData(server.port)
    written.write(`${plainMessage()}\r\n.\r\n`)
    await began
    const stopped = server.stop()
    expect((await idle.reply()).text).toBe('421 4.3.2 The gateway is stopping')
    idle.socket.end()
    receiving.write(`${plainMessage()}\r\n.\r\n`)
    goOn()
    for (const client of [written, receiving]) {
      expect((await client.reply()).text).toMatch(/^250 2\.0\.0 queued as /)
      expect((await client.reply()).text).toBe('421 4.3.2 The gateway is stopping')
      client.socket.end()
    }
    await stopped
    await expect(smtpClient(server.port)).rejects.toThrow('ECONNREFUSED')
  })
})
