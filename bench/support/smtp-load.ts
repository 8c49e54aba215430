import { connect } from 'node:net'

export type SmtpLoad = {
  port: number
  apiKey: string
  recipient: string
  /** Without lines that begin with a dot. */
  message: string
  sessions: number
  seconds: number
}

/** How many messages were answered with 250 in this time. */
export async function deliverBySmtp({ sessions, ...load }: SmtpLoad): Promise<number> {
  const counts = await Promise.all(Array.from({ length: sessions }, () => runSession(load)))
  return counts.reduce((sum, count) => sum + count, 0)
}

/** A client that knows which replies come: one for each line it has sent. */
function runSession({ port, apiKey, recipient, message, seconds }: Omit<SmtpLoad, 'sessions'>): Promise<number> {
  const login = Buffer.from(`\0bench\0${apiKey}`).toString('base64')
  const envelope = `MAIL FROM:<bench@client.test>\r\nRCPT TO:<${recipient}>\r\nDATA\r\n`
  const steps = [
    { expected: 220, write: 'EHLO bench\r\n' },
    { expected: 250, write: `AUTH PLAIN ${login}\r\n` },
    { expected: 235, write: envelope },
  ]
  const body = `${message}\r\n.\r\n`
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let received = ''
    let accepted = 0
    let untilMs = Number.POSITIVE_INFINITY
    function onReply(code: number, line: string): void {
      const [step] = steps
      if (step && code !== step.expected) fail(line)
      else if (step) {
        steps.shift()
        if (steps.length === 0) untilMs = performance.now() + seconds * 1000
        socket.write(step.write)
      } else if (code === 354) socket.write(body)
      else if (code !== 250) fail(line)
      else if (line.startsWith('250 2.0.0 queued')) next()
    }
    function next(): void {
      if (performance.now() > untilMs) {
        socket.end('QUIT\r\n')
        resolve(accepted)
      } else {
        accepted++
        socket.write(envelope)
      }
    }
    function fail(line: string): void {
      socket.destroy()
      reject(new Error(`Refused: ${line}`))
    }
    socket.on('error', reject)
    socket.on('data', chunk => {
      received += chunk.toString('latin1')
      const lines = received.split('\r\n')
      received = lines.pop()!
      for (const line of lines) if (/^\d{3} /.test(line)) onReply(Number(line.slice(0, 3)), line)
    })
  })
}
