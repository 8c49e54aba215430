import { useSyncExternalStore } from 'react'

type Connection = { state: 'up' } | { state: 'offline' | 'unavailable'; since: number }

const UP: Connection = { state: 'up' }
let current: Connection = UP
const listeners = new Set<() => void>()

function change(next: Connection): void {
  current = next
  for (const listener of listeners) listener()
}

/** Whether the gateway and its database answer, as the last request found. */
export const connection = {
  answered(status: number): void {
    const isAway = status === 502 || status === 503 || status === 504
    if (!isAway) {
      if (current.state !== 'up') change(UP)
    } else if (current.state !== 'unavailable') change({ state: 'unavailable', since: sinceNow() })
  },
  lost(): void {
    if (current.state !== 'offline') change({ state: 'offline', since: sinceNow() })
  },
  get: () => current,
  subscribe(listener: () => void): () => void {
    listeners.add(listener)
    return () => listeners.delete(listener)
  },
}

const sinceNow = () => (current.state === 'up' ? Date.now() : current.since)

export const useConnection = () => useSyncExternalStore(connection.subscribe, connection.get)
