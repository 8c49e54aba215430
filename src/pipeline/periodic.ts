/** Whoever asks while the task runs gets the end of that run. */
export function oneAtATime<Out>(task: () => Promise<Out>): () => Promise<Out> {
  let running: Promise<Out> | null = null
  return () => {
    running ??= task().finally(() => {
      running = null
    })
    return running
  }
}

/**
 * Runs a task every so often, and never twice at once: a run that takes longer than the interval is not joined by another. On a
 * slow database, copies of the same statement would otherwise pile up and make it slower still.
 */
export function periodically(
  everyMs: number,
  task: () => Promise<unknown>,
  onError: (error: unknown) => void,
): () => void {
  let running = false
  const tick = async () => {
    if (running) return
    running = true
    try {
      await task()
    } catch (error) {
      onError(error)
    } finally {
      running = false
    }
  }
  const timer = setInterval(() => void tick(), everyMs)
  return () => clearInterval(timer)
}
