import { setTimeout as sleep } from 'node:timers/promises'

export type Clients = {
  /** externalId → outboxId of every 202. */
  accepted: Map<string, string>
  /** Answers that are neither a 202 nor a "not now". */
  unexpected: string[]
  /** Lets every client finish its current e-mail. */
  stop: () => Promise<void>
}

type Load = {
  url: string
  apiKey: string
  count: number
  random: () => number
  /** Longest pause of a client between two e-mails. */
  pauseMs?: number
  /** Every second client sends with an Idempotency-Key and repeats until it is answered; the others never repeat. */
  repeat?: boolean
}

type Answer = { kind: 'accepted'; outboxId: string } | { kind: 'not now' } | { kind: 'unexpected'; text: string }

/** Clients that send as fast as they are answered, and keep trying while nobody listens. */
export function startClients({ url, apiKey, count, random, pauseMs = 0, repeat = false }: Load): Clients {
  const accepted = new Map<string, string>()
  const unexpected: string[] = []
  let stopping = false

  async function client(number: number): Promise<void> {
    const repeats = repeat && number % 2 === 0
    for (let n = 0; !stopping; n++) {
      const externalId = `client-${number}-${n}`
      let answer = await sendOne(url, apiKey, externalId, repeats)
      while (repeats && answer.kind === 'not now') {
        await sleep(20)
        answer = await sendOne(url, apiKey, externalId, repeats)
      }
      if (answer.kind === 'accepted') accepted.set(externalId, answer.outboxId)
      if (answer.kind === 'unexpected') unexpected.push(answer.text)
      await sleep(answer.kind === 'accepted' ? random() * pauseMs : 20)
    }
  }

  const running = Array.from({ length: count }, (_, number) => client(number))
  return {
    accepted,
    unexpected,
    async stop() {
      stopping = true
      await Promise.all(running)
    },
  }
}

async function sendOne(url: string, apiKey: string, externalId: string, keyed: boolean): Promise<Answer> {
  try {
    const response = await fetch(`${url}/v1/email/send`, {
      method: 'POST',
      headers: {
        'x-api-key': apiKey,
        'content-type': 'application/json',
        ...(keyed && { 'idempotency-key': externalId }),
      },
      body: JSON.stringify({
        to: `${externalId}@example.com`,
        subject: 'Your order is on its way',
        html: `<p>Hello, your order ${externalId} has left our warehouse and arrives within three working days.</p>`,
        externalId,
        tags: ['order'],
      }),
    })
    const text = await response.text()
    if (response.status === 202) return { kind: 'accepted', outboxId: JSON.parse(text).outboxId }
    const mayRepeat = response.status === 503 || (keyed && response.status === 409)
    return mayRepeat ? { kind: 'not now' } : { kind: 'unexpected', text: `${response.status} ${text}` }
  } catch {
    // Refused, or broken off in the middle: the client cannot know whether it was accepted.
    return { kind: 'not now' }
  }
}
