import { randomUUID } from 'node:crypto'
import { acceptRequests } from '../../src/outbox/accept.ts'
import type { Draft } from '../../src/outbox/draft.ts'
import type { EmailToSend } from '../../src/outbox/load.ts'
import { composeSending, type Sending } from '../../src/pipeline/lanes/compose.ts'
import { HtmlChecker, htmlProof } from '../../src/platform/html/check.ts'
import { type Database, openDatabase } from '../../src/platform/postgres/pool.ts'
import { WakeableSleep } from '../../src/platform/sleep.ts'
import { makeEmailLog } from '../../src/platform/telemetry/email-log.ts'
import { makeLog } from '../../src/platform/telemetry/log.ts'
import { ProcessFigures } from '../../src/platform/telemetry/process-figures.ts'
import { NO_TRACING } from '../../src/platform/telemetry/tracing.ts'
import { addressKey } from '../../src/platform/text/addresses.ts'
import { hashEmail } from '../../src/platform/text/hashing.ts'
import { uuidv7 } from '../../src/platform/text/uuid.ts'
import type { OutgoingMessage, Provider, SendResult } from '../../src/providers/provider.ts'
import type { Providers } from '../../src/providers/providers.ts'
import { type Config, loadConfig } from '../../src/settings/config.ts'
import { maxAttempts } from '../../src/settings/retry.ts'
import { BODY } from '../accept.ts'

export const JOBS = Number(process.env.JOBS ?? 20_000)
export const WARM_UP_JOBS = Number(process.env.WARM_UP_JOBS ?? 3_000)

/** The line of DATABASE_URL and REDIS_URL in this process, with a provider of the benchmark's own. */
export type OurLine = { config: Config; db: Database; line: Sending & { wake(): void }; stop(): Promise<void> }

export async function openLine(send: (message: OutgoingMessage) => Promise<SendResult>): Promise<OurLine> {
  const config = loadConfig()
  const db = openDatabase(config.DATABASE_URL!, () => {})
  const html = new HtmlChecker(config.hashPepper)
  const log = makeLog({ level: config.LOG_LEVEL, pretty: false })
  const emailsReady = new WakeableSleep()
  const figures = new ProcessFigures({ version: 'bench', role: 'worker' }, {})
  const sending = await composeSending({
    config,
    db,
    providers: providersOf(send),
    html,
    log,
    emailsReady,
    eventsReceived: { wake: () => {} },
    wakeWebhooks: () => {},
    countSent: () => {},
    emailLog: makeEmailLog(log, config.LOG_SAMPLE),
    tracing: NO_TRACING,
    figures,
  })
  const line = { ...sending, wake: () => emailsReady.wake() }
  return {
    config,
    db,
    line,
    async stop() {
      await line.stop()
      await html.close()
      figures.close()
      await db.close()
    },
  }
}

/** No rate, no breaker: nothing between the line and this function. */
export function providersOf(
  send: (message: OutgoingMessage) => Promise<SendResult>,
  seen: (email: EmailToSend) => void = () => {},
): Providers {
  const provider: Provider = { name: 'null', recognisesAttempts: false, send, close: async () => {} }
  return {
    route: async email => {
      seen(email)
      return provider
    },
    notCalled: () => {},
    report: () => {},
    waitForRate: async () => true,
    maxInFlight: () => Number.POSITIVE_INFINITY,
    idempotentProviders: [],
    start: async () => {},
    stop: async () => {},
  }
}

let messages = 0

export const sent = (): SendResult => ({ kind: 'sent', messageId: `null-${++messages}`, events: [] })

export async function makeCompanies(db: Database, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => uuidv7())
  await db.pool.query(
    `insert into companies (company_id, name) select id, 'bench ' || id from unnest($1::uuid[]) as id`,
    [ids],
  )
  return ids
}

const TO = { kind: 'to' as const, address: BODY.to, name: null, hash: hashEmail(BODY.to) }

function draftOf(companyId: string, place: number): Draft {
  // No two alike, as in life.
  const html = BODY.html.replace('123', String(place))
  return {
    index: 0,
    outboxId: uuidv7(),
    eventId: uuidv7(),
    companyId,
    requestId: randomUUID(),
    externalId: BODY.externalId,
    test: false,
    from: BODY.from,
    subject: BODY.subject,
    template: null,
    templateVersion: null,
    tags: BODY.tags,
    priority: 5,
    retryPolicy: 'steps',
    onUnknown: 'resend',
    maxAttempts: maxAttempts('steps'),
    delayMs: null,
    scheduledAt: null,
    html,
    htmlProof: htmlProof(html, process.env.HASH_PEPPER!),
    text: null,
    replyTo: null,
    headers: null,
    variables: null,
    recipientRecord: null,
    attachments: [],
    resendOf: null,
    traceparent: null,
    addresses: [{ ...TO, key: addressKey(TO.hash) }],
  }
}

/** Accepted as the door accepts, the companies taking turns. `tracedOf`: the traceparent of each. Answers their ids. */
export async function accept(
  db: Database,
  companies: string[],
  count: number,
  tracedOf: (place: number) => string | null = () => null,
): Promise<string[]> {
  const ids: string[] = []
  for (let from = 0; from < count; from += 500) {
    const drafts = Array.from({ length: Math.min(500, count - from) }, (_, place) => ({
      ...draftOf(companies[(from + place) % companies.length]!, from + place),
      traceparent: tracedOf(from + place),
    }))
    await acceptRequests(
      db.short,
      drafts.map(draft => ({ drafts: [draft], strict: true, idempotency: null, refusedBefore: [] })),
    )
    for (const draft of drafts) ids.push(draft.outboxId)
  }
  return ids
}
