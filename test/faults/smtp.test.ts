import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type Deployment, type Running, startDeployment } from '../support/deployment.ts'
import { edition, fault, freePort } from '../support/faults.ts'
import { until } from '../support/gateway.ts'
import { type SmtpClient, smtpClient } from '../support/smtp-client.ts'

const KILLS = edition(3, 20)
const CLIENTS = 6
const MESSAGE = ['From: shop@example.com', 'To: maria@example.com', 'Subject: Hello', '', ''].join('\r\n')
/** So large that most of the time of its client is spent in DATA. */
const LARGE_TEXT = `${'x'.repeat(76)}\r\n`.repeat(4_000)

type Answers = { accepted: Set<string>; cutOff: number }

test(`an API killed with SIGKILL ${KILLS} times while it receives messages by SMTP: no 250 without an e-mail`, {
  timeout: edition(120_000, 600_000),
}, async context => {
  const { between, report } = fault(context, 'API killed with SIGKILL while it receives messages by SMTP')
  const [port, smtpPort] = [await freePort(), await freePort()]
  const deployment = await startDeployment(context, {
    env: { PORT: String(port), SMTP_INGRESS_PORT: String(smtpPort) },
  })
  const answers: Answers = { accepted: new Set(), cutOff: 0 }
  let api: Running = deployment.api
  for (let kill = 1; kill <= KILLS; kill++) {
    const before = answers.accepted.size
    const clients = Array.from({ length: CLIENTS }, (_, n) =>
      deliverUntilCutOff(smtpPort, deployment, answers, n % 2 === 0),
    )
    await until(
      async () => answers.accepted.size,
      accepted => accepted >= before + CLIENTS,
    )
    await sleep(between(0, 200))
    api.signal('SIGKILL')
    expect(await api.exited).toEqual({ code: null, signal: 'SIGKILL' })
    await Promise.all(clients)
    api = deployment.launchApi()
    await listening(smtpPort)
  }
  expect(answers.cutOff, 'kills that hit no message under way prove nothing').toBeGreaterThan(0)
  const { rows } = await deployment.db.pool.query(
    `select o.outbox_id::text as id from email_outbox o join email_events e using (outbox_id) where e.type = 'QUEUED'`,
  )
  const kept = new Set(rows.map(row => row.id))
  expect([...answers.accepted].filter(id => !kept.has(id))).toEqual([])
  report({
    done: `${KILLS} kills at random moments, ${CLIENTS} clients, half of their messages of 300 KB`,
    checked: 'every 250 has its e-mail and its QUEUED event',
    figures: {
      'answered 250': answers.accepted.size,
      'cut off in a message': answers.cutOff,
      'kept without an answer': kept.size - answers.accepted.size,
    },
  })
})

/** One message after the other on one connection, until it is lost. */
async function deliverUntilCutOff(
  port: number,
  deployment: Deployment,
  answers: Answers,
  large: boolean,
): Promise<void> {
  const client = await smtpClient(port)
  await client.logIn(deployment.companies[0]!.apiKey)
  for (;;) {
    const sent = await deliver(client, large).catch(() => null)
    if (sent === null) {
      answers.cutOff++
      return
    }
    answers.accepted.add(sent)
  }
}

async function deliver(client: SmtpClient, large: boolean): Promise<string> {
  const { text } = await client.send(['maria@example.com'], MESSAGE + (large ? LARGE_TEXT : 'Hi'))
  const outboxId = /^250 2\.0\.0 queued as (\S+)/.exec(text)?.[1]
  if (!outboxId) throw new Error(text)
  return outboxId
}

async function listening(port: number): Promise<void> {
  const client = await until(
    () => smtpClient(port).catch(() => null),
    connected => connected !== null,
    30_000,
  )
  client!.socket.destroy()
}
