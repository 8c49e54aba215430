import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { driverUrl } from './connection.ts'
import type { Queryable } from './query.ts'
import { applySettings, limitedTo } from './session-settings.ts'

const CONNECT_TIMEOUT_MS = 5_000
/** A listening connection sends nothing, so a lost one is only noticed by a query. */
const CHECK_EVERY_MS = 30_000
const QUERY_TIMEOUT_MS = 5_000
const END_TIMEOUT_MS = 1_000

/** Channels of LISTEN/NOTIFY, named after the tables that got a row. */
export type Channel = 'email_ready' | 'webhook_ready'

/**
 * Notifies other processes. `sender` is sent along, because the own workers were already notified directly. Not part of the accept
 * transaction: Postgres serializes the commits of all transactions that contain a NOTIFY.
 */
export async function notifyProcesses(db: Queryable, channel: Channel, sender: string): Promise<void> {
  await db.query('select pg_notify($1, $2)', [channel, sender])
}

/** Listens for notifications of processes other than `sender`, over its own connection, which is reopened when lost. */
export function listenForNotifications(
  url: string,
  sender: string,
  onNotified: Record<Channel, () => void>,
  onError: (error: Error) => void,
  checkEveryMs = CHECK_EVERY_MS,
): () => Promise<void> {
  const channels = Object.keys(onNotified) as Channel[]
  let client: pg.Client | null = null
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  async function listen(): Promise<void> {
    const fresh = new pg.Client({
      connectionString: driverUrl(url),
      application_name: 'email-gateway-listen',
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: QUERY_TIMEOUT_MS,
    })
    client = fresh
    fresh.on('notification', ({ channel, payload }) => {
      if (payload !== sender) onNotified[channel as Channel]?.()
    })
    fresh.on('error', onConnectionError)
    fresh.on('end', reconnectLater)
    try {
      await fresh.connect()
      await applySettings(fresh, limitedTo(QUERY_TIMEOUT_MS))
      await fresh.query(channels.map(channel => `listen ${channel}`).join(';'))
      // Notifications may have been missed before this connection was open.
      for (const channel of channels) onNotified[channel]()
      await checkWhileOpen(fresh)
    } catch (error) {
      onConnectionError(error as Error)
    }
  }

  async function checkWhileOpen(listening: pg.Client): Promise<void> {
    for (;;) {
      await sleep(checkEveryMs, null, { ref: false })
      if (stopped || timer || client !== listening) return
      await listening.query('select 1')
    }
  }

  function onConnectionError(error: Error): void {
    onError(error)
    reconnectLater()
  }

  function reconnectLater(): void {
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
    // end() never resolves on a half-open connection.
    await Promise.race([client?.end().catch(() => {}), sleep(END_TIMEOUT_MS, null, { ref: false })])
  }
}
