/**
 * A sleep that others can end. A wake-up that comes while nobody sleeps is kept for the next sleep, so nothing is missed between
 * looking for work and going to sleep. One loop sleeps; any number of callers wake it.
 */
export class WakeableSleep {
  #woken = false
  #end: (() => void) | null = null

  wake(): void {
    this.#woken = true
    this.#end?.()
  }

  /** Ends the sleep under way. Unlike a wake-up, nothing is kept when nobody sleeps. */
  interrupt(): void {
    this.#end?.()
  }

  /** A wake-up has come since the last `clear`. */
  get woken(): boolean {
    return this.#woken
  }

  /** What comes from now on counts: called before looking for work. */
  clear(): void {
    this.#woken = false
  }

  /** Resolves when woken, or after so long. */
  sleep(ms: number): Promise<void> {
    if (this.#woken) return Promise.resolve()
    return new Promise(resolve => {
      const timer = setTimeout(() => this.#end?.(), ms)
      this.#end = () => {
        clearTimeout(timer)
        this.#end = null
        resolve()
      }
    })
  }
}

/** Resolves after so long, or when the signal is aborted. */
export function sleepUnlessAborted(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise(resolve => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
  })
}

/** Whether the work ended in this time. If not, it goes on without being waited for. */
export async function finishedWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>(resolve => {
    timer = setTimeout(() => resolve(false), ms)
  })
  try {
    return await Promise.race([work.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}
