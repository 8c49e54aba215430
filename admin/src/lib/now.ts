import { useSyncExternalStore } from 'react'

const TICK_MS = 10_000
const watchers = new Set<() => void>()
let now = Date.now()
let timer: ReturnType<typeof setInterval> | undefined

function subscribe(watcher: () => void): () => void {
  watchers.add(watcher)
  timer ??= setInterval(tick, TICK_MS)
  return () => {
    watchers.delete(watcher)
    if (watchers.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

function tick(): void {
  now = Date.now()
  for (const watcher of watchers) watcher()
}

/** The time, for relative times: one timer for the whole page. Not older than what is drawn, or a new row would be "in 7 s". */
export function useNow(): number {
  useSyncExternalStore(subscribe, () => now)
  return Date.now()
}
