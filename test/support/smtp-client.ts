import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

type SmtpReply = { code: number; text: string }

export type SmtpClient = {
  socket: Socket
  /** Writes bytes as they are. */
  write: (text: string | Buffer) => void
  /** Writes a line and waits for the reply. */
  say: (line: string) => Promise<SmtpReply>
  reply: () => Promise<SmtpReply>
  /** EHLO, AUTH PLAIN. */
  logIn: (apiKey: string) => Promise<SmtpReply>
  /** MAIL, RCPT, DATA and the message, which has no dot-stuffing and no final dot yet. Replies with what came last. */
  send: (recipients: string[], message: string | Buffer, mailParameters?: string) => Promise<SmtpReply>
  closed: Promise<unknown>
}

/** Speaks SMTP byte by byte, also wrongly. */
export async function smtpClient(port: number, localAddress = '127.0.0.1'): Promise<SmtpClient> {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  const closed = new Promise(resolve => socket.once('close', resolve))
  socket.on('error', () => {})
  let received = ''
  socket.on('data', chunk => {
    received += chunk.toString('latin1')
    socket.emit('more')
  })
  async function reply(): Promise<SmtpReply> {
    for (;;) {
      const match = /^(?:\d{3}-.*\r\n)*(\d{3}) (.*)\r\n/.exec(received)
      if (match) {
        const text = received.slice(0, match[0].length).trimEnd()
        received = received.slice(match[0].length)
        return { code: Number(match[1]), text }
      }
      if (socket.destroyed) throw new Error(`the connection ended; received: ${received}`)
      await Promise.race([once(socket, 'more'), closed])
    }
  }
  const write = (text: string | Buffer) => void socket.write(text)
  const say = (line: string) => {
    write(`${line}\r\n`)
    return reply()
  }
  await reply()
  return {
    socket,
    write,
    say,
    reply,
    closed,
    async logIn(apiKey) {
      await say('EHLO client.test')
      return say(`AUTH PLAIN ${Buffer.from(`\0anyone\0${apiKey}`).toString('base64')}`)
    },
    async send(recipients, message, mailParameters = '') {
      const commands = [
        `MAIL FROM:<app@client.test>${mailParameters}`,
        ...recipients.map(one => `RCPT TO:<${one}>`),
        'DATA',
      ]
      for (const command of commands) {
        const answer = await say(command)
        if (answer.code >= 400) return answer
      }
      write(message)
      return say('\r\n.')
    },
  }
}

/** A small message with these header lines on top. */
export const plainMessage = (...headers: string[]) =>
  [...headers, 'From: Shop <shop@sender.test>', 'To: maria@example.com', 'Subject: Hello', '', 'Hi Maria'].join('\r\n')
