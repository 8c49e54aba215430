import type { Logger } from 'pino'
import { DEAD_MAILBOX, type DemoCompany, one, PAUSED_COMPANY, SILENT_MAILBOX, somebody } from './companies.ts'
import type { DemoClient } from './demo.ts'
import type { WaitedEmail } from './stored.ts'

export type DemoSender = { company: DemoCompany; companyId: string; apiKey: string }
type DemoAccess = {
  /** By SQL, as an application that names a template that is not there. */
  enqueueUnknownTemplate: (companyId: string, recipient: string) => Promise<void>
  /** Accepted a day ago, of the company that is paused since. */
  enqueueExpiring: (email: WaitedEmail) => Promise<void>
}

const TICK_MS = 400
const MOST_PER_TICK = 2
const MINUTE_MS = 60_000

/** Sends every few hundred milliseconds until it is stopped: mostly ordinary e-mails, now and then something rarer. */
export function startTraffic(
  senders: DemoSender[],
  client: DemoClient,
  access: DemoAccess,
  random: () => number,
  log: Logger,
): () => Promise<void> {
  let sent = 0
  let tick = 0
  const failed = (error: unknown) => log.warn({ err: error }, 'The demo could not send')

  const send = async (sender: DemoSender, change: Record<string, unknown> = {}): Promise<string | null> => {
    const answer = await client(sender.apiKey, 'POST', '/v1/email/send', {
      ...ordinary(sender, ++sent, random),
      ...change,
    })
    return answer.status === 202 ? answer.body.outboxId : null
  }
  /** To somebody else where the first recipient is suppressed. */
  const sendForLater = async (sender: DemoSender): Promise<string | null> => {
    for (let tries = 0; tries < 5; tries++) {
      const outboxId = await send(sender, { delay: 10 * MINUTE_MS })
      if (outboxId) return outboxId
    }
    return null
  }
  const cancelOne = async (sender: DemoSender) => {
    const outboxId = await sendForLater(sender)
    if (outboxId) await client(sender.apiKey, 'POST', `/v1/email/${outboxId}/cancel`)
  }
  const paused = senders.find(({ company }) => company.name === PAUSED_COMPANY)!
  const expireOne = () => {
    const { template: type, to: recipient, variables } = ordinary(paused, ++sent, random)
    return access.enqueueExpiring({ companyId: paused.companyId, type, recipient: bareAddress(recipient), variables })
  }
  /** Every so many ticks, beginning with the first. */
  const rare: [everyTicks: number, act: (sender: DemoSender) => Promise<unknown>][] = [
    [12, sender => send(sender, { delay: MINUTE_MS * (1 + Math.floor(random() * 30)) })],
    [20, sender => send(sender, { attachments: [invoice(sender, sent)] })],
    [40, sender => send(sender, { to: DEAD_MAILBOX, retryPolicy: 'exponential' })],
    [900, sender => send(sender, { to: SILENT_MAILBOX, onUnknown: 'hold' })],
    [60, cancelOne],
    [90, expireOne],
    [120, sender => access.enqueueUnknownTemplate(sender.companyId, somebody(random).email)],
    [30, sender => send(sender, { to: somebody(random).email, cc: [somebody(random).email] })],
  ]
  const beat = async () => {
    const count = 1 + Math.floor(random() * MOST_PER_TICK)
    const acts = rare.filter(([everyTicks]) => tick % everyTicks === 0).map(([, act]) => act(chosen(senders, random)))
    tick++
    await Promise.all([...acts, ...Array.from({ length: count }, () => send(chosen(senders, random)))])
  }
  let running: Promise<void> = Promise.resolve()
  const timer = setInterval(() => {
    running = running.then(beat).catch(failed)
  }, TICK_MS)
  return async () => {
    clearInterval(timer)
    await running
  }
}

const bareAddress = (to: string) => to.replace(/^.*<|>$/g, '')

function ordinary({ company }: DemoSender, number: number, random: () => number) {
  const mail = one(company.mail, random)
  const person = somebody(random, company.domain)
  const amount = (20 + random() * 900).toFixed(2)
  const order = {
    number: String(10_000 + number),
    amount: company.settings.locale === 'en' ? amount : amount.replace('.', ','),
  }
  return {
    to: `${person.name} <${person.email}>`,
    template: mail.templateType,
    variables: { user: { name: person.name }, order },
    tags: [mail.tag],
    externalId: `${mail.tag}-${order.number}`,
  }
}

function chosen(senders: DemoSender[], random: () => number): DemoSender {
  let drawn = random() * senders.reduce((sum, { company }) => sum + company.share, 0)
  for (const sender of senders) {
    if (drawn < sender.company.share) return sender
    drawn -= sender.company.share
  }
  return senders[0]!
}

function invoice({ company }: DemoSender, number: number) {
  const [name, thanks] = company.settings.locale === 'en' ? ['invoice', 'Thank you.'] : ['fatura', 'Obrigado.']
  return {
    filename: `${name}-${number}.txt`,
    contentType: 'text/plain',
    content: Buffer.from(`${name} ${number}\n${thanks}\n`).toString('base64'),
  }
}
