import { setMaxListeners } from 'node:events'

/** Calls that begin within this time share a signal: one for each, with its timer, costs more than everything else about a call. */
const SHARED_MS = 100

class TimeoutError extends Error {
  override name = 'TimeoutError'
}

/** Answers a signal for a call that begins now. It is aborted after so long, or a tenth of a second later. */
export function timeLimit(ms: number): () => AbortSignal {
  let shared: AbortSignal | null = null
  let untilMs = 0
  return () => {
    const nowMs = performance.now()
    if (shared && nowMs < untilMs) return shared
    const limit = new AbortController()
    // Every call listens to it, and Node would take more than ten for a leak.
    setMaxListeners(0, limit.signal)
    setTimeout(() => limit.abort(new TimeoutError()), ms + SHARED_MS).unref()
    shared = limit.signal
    untilMs = nowMs + SHARED_MS
    return shared
  }
}
