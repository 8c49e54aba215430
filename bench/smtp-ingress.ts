import { BODY } from './accept.ts'
import { measure, ratios, spread } from './support/measure.ts'
import { type RunningGateway, startOurs } from './support/processes.ts'
import { writeResults } from './support/results.ts'
import { interleave, ROUNDS } from './support/rounds.ts'
import { deliverBySmtp } from './support/smtp-load.ts'

const SESSIONS = 20
const SECONDS = Number(process.env.SECONDS ?? 8)
const WARM_UP_SECONDS = 2

/** The same e-mail as a message. */
const MESSAGE = [
  `From: ${BODY.from}`,
  `To: ${BODY.to}`,
  `Subject: =?utf-8?B?${Buffer.from(BODY.subject).toString('base64')}?=`,
  'MIME-Version: 1.0',
  'Content-Type: text/html; charset=utf-8',
  'Content-Transfer-Encoding: 8bit',
  `X-Gateway-External-Id: ${BODY.externalId}`,
  `X-Gateway-Tags: ${BODY.tags.join(', ')}`,
  '',
  BODY.html,
].join('\r\n')

/** Accepting by SMTP against accepting by HTTP: the same e-mail, the same gateway, as many connections. */
export async function benchSmtpIngress(): Promise<void> {
  const ours = await startOurs({ SMTP_INGRESS_PORT: '0' })
  const port = Number(/SMTP at \S+:(\d+)/.exec(ours.output)![1])
  const measurements = { http: () => acceptedByHttp(ours), smtp: () => acceptedBySmtp(port, ours) }
  const { http, smtp } = await interleave(measurements).finally(() => ours.stop())
  writeResults('smtp-ingress', [
    `${SESSIONS} sessions, each sending one message after the other of ${MESSAGE.length} bytes, commands pipelined, against ${SESSIONS} HTTP connections with the same e-mail; ${ROUNDS} rounds of ${SECONDS} s. The client is ours: smtp-source of Postfix cannot log in.`,
    '',
    '| figure | target | measured |',
    '|---|---|---|',
    `| SMTP ÷ HTTP accept | ≥ 0.2 | ${spread(ratios(smtp, http), 2)} |`,
    '',
    `Per second: ${spread(smtp)} by SMTP, ${spread(http)} by HTTP.`,
  ])
}

async function acceptedByHttp({ url, apiKey }: RunningGateway): Promise<number> {
  const target = { name: 'HTTP', url, headers: { 'x-api-key': apiKey }, body: JSON.stringify(BODY) }
  const { perSecond, refused } = await measure(target, {
    connections: SESSIONS,
    seconds: SECONDS,
    warmUpSeconds: WARM_UP_SECONDS,
  })
  if (refused > 0) throw new Error(`${refused} requests were refused`)
  return perSecond
}

async function acceptedBySmtp(port: number, { apiKey }: RunningGateway): Promise<number> {
  const load = { port, apiKey, recipient: BODY.to, message: MESSAGE, sessions: SESSIONS }
  await deliverBySmtp({ ...load, seconds: WARM_UP_SECONDS })
  return (await deliverBySmtp({ ...load, seconds: SECONDS })) / SECONDS
}
