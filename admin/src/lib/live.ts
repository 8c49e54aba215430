import { useEffect, useRef, useSyncExternalStore } from 'react'

export type LiveState = 'connecting' | 'live' | 'off'
const PATH = '/admin/live'
/** EventSource reconnects by itself after a lost connection, but not after a refusal. */
const RETRY_MS = 15_000
/** The gateway says `alive` every three seconds: one that is silent for so long hangs, or the network does. */
const SILENCE_MS = 8_000

type Handler = (data: unknown) => void

/** One stream for the whole page, open while something listens and the page is visible. */
const handlers = new Map<string, Set<Handler>>()
const watchers = new Set<() => void>()
let source: EventSource | undefined
let retry: ReturnType<typeof setTimeout> | undefined
let silence: ReturnType<typeof setTimeout> | undefined
let state: LiveState = 'off'

let onEnd: () => void = () => {}
/** Called when the stream ends or is refused: an EventSource does not say why. */
export function whenStreamEnds(listener: () => void): void {
  onEnd = listener
}

let onSilence: () => void = () => {}
/** Called when nothing was heard for SILENCE_MS: a connection to a process that hangs does not end. */
export function whenStreamIsSilent(listener: () => void): void {
  onSilence = listener
}

function setState(next: LiveState): void {
  if (state === next) return
  state = next
  for (const watcher of watchers) watcher()
}

function connect(): void {
  if (source || document.hidden || handlers.size === 0) return
  setState('connecting')
  source = new EventSource(PATH)
  source.addEventListener('alive', heard)
  waitForEvent()
  source.onerror = () => {
    if (state === 'live' || source?.readyState === EventSource.CLOSED) onEnd()
    setState('connecting')
    waitForEvent()
    if (source?.readyState !== EventSource.CLOSED) return
    disconnect()
    retry = setTimeout(connect, RETRY_MS)
  }
  for (const event of handlers.keys()) source.addEventListener(event, dispatch)
}

function disconnect(): void {
  clearTimeout(retry)
  clearTimeout(silence)
  source?.close()
  source = undefined
  setState('off')
}

function waitForEvent(): void {
  clearTimeout(silence)
  silence = setTimeout(reconnect, SILENCE_MS)
}

function reconnect(): void {
  disconnect()
  onSilence()
  // This connection waits, too, and is answered as soon as the gateway goes on.
  connect()
}

function heard(): void {
  setState('live')
  waitForEvent()
}

function dispatch(event: MessageEvent<string>): void {
  heard()
  const data: unknown = JSON.parse(event.data)
  for (const handler of handlers.get(event.type) ?? []) handler(data)
}

document.addEventListener('visibilitychange', () => (document.hidden ? disconnect() : connect()))

function listen(event: string, handler: Handler): () => void {
  const existing = handlers.get(event)
  if (existing) existing.add(handler)
  else {
    handlers.set(event, new Set([handler]))
    source?.addEventListener(event, dispatch)
  }
  connect()
  return () => {
    handlers.get(event)?.delete(handler)
    if (handlers.get(event)?.size === 0) {
      handlers.delete(event)
      source?.removeEventListener(event, dispatch)
    }
    if (handlers.size === 0) disconnect()
  }
}

/** Calls `handler` with each server-sent event of this name: `useLive('counts', counts => …)`. */
export function useLive<T>(event: string, handler: (data: T) => void): void {
  const latest = useRef(handler)
  useEffect(() => {
    latest.current = handler
  })
  useEffect(() => listen(event, data => latest.current(data as T)), [event])
}

const subscribe = (watcher: () => void) => {
  watchers.add(watcher)
  return () => watchers.delete(watcher)
}
export const useLiveState = () => useSyncExternalStore(subscribe, () => state)
