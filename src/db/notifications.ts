import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { driverUrl } from './connection-url.ts'
import type { Queryable } from './pool.ts'
import { applySettings, limitedTo } from './session-settings.ts'

const CONNECT_MS = 5_000
/** Nothing is ever sent over a connection that listens, so it has to be asked whether it is still there. */
const ASK_EVERY_MS = 30_000
const ANSWER_MS = 5_000
const END_MS = 1_000

/** Something became ready: an e-mail to send, a webhook to deliver. */
export type Channel = 'email_ready' | 'webhook_ready'

/**
 * Tells the workers of other gateways, and says who rang: one's own know already, and would look a second time for nothing. A
 * statement of its own: inside the accept, NOTIFY would line up all commits.
 */
export async function notifyProcesses(db: Queryable, channel: Channel, sender: string): Promise<void> {
  await db.query('select pg_notify($1, $2)', [channel, sender])
}

/** Hears the notifiers that others than `sender` ring, over a connection of its own that is opened again when lost. */
export function listenForNotifications(
  url: string,
  sender: string,
  onRing: Record<Channel, () => void>,
  onError: (error: Error) => void,
  askEveryMs = ASK_EVERY_MS,
): () => Promise<void> {
  const notifiers = Object.keys(onRing) as Channel[]
  let client: pg.Client | null = null
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  async function listen(): Promise<void> {
    const fresh = new pg.Client({
      connectionString: driverUrl(url),
      application_name: 'email-gateway-channel',
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: ANSWER_MS,
    })
    client = fresh
    fresh.on('notification', ({ channel, payload }) => {
      if (payload !== sender) onRing[channel as Channel]?.()
    })
    fresh.on('error', lost)
    fresh.on('end', again)
    try {
      await fresh.connect()
      await applySettings(fresh, limitedTo(ANSWER_MS))
      await fresh.query(notifiers.map(channel => `listen ${channel}`).join(';'))
      // What rang while nobody listened.
      for (const channel of notifiers) onRing[channel]()
      await askWhileOpen(fresh)
    } catch (error) {
      lost(error as Error)
    }
  }

  async function askWhileOpen(listening: pg.Client): Promise<void> {
    for (;;) {
      await sleep(askEveryMs, null, { ref: false })
      if (stopped || timer || client !== listening) return
      await listening.query('select 1')
    }
  }

  function lost(error: Error): void {
    onError(error)
    again()
  }

  function again(): void {
    if (stopped || timer) return
    client?.removeAllListeners().on('error', () => {})
    void client?.end().catch(() => {})
    timer = setTimeout(() => {
      timer = undefined
      void listen()
    }, 1_000)
  }

  void listen()
  return async () => {
    stopped = true
    clearTimeout(timer)
    client?.removeAllListeners().on('error', () => {})
    // A half-open connection never says that it has ended.
    await Promise.race([client?.end().catch(() => {}), sleep(END_MS, null, { ref: false })])
  }
}
