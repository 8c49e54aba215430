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
 * Runs a task again and again, `everyMs` after the last run has ended, so it never overlaps itself: on a slow database, copies of
 * the same statement would pile up and make it slower still. A periodic task alone does not keep the process alive.
 *
 * Returns a function that stops it and waits for a run that is under way.
 */
export function periodically(
  everyMs: number,
  task: () => Promise<unknown>,
  onError: (error: unknown) => void,
  afterErrorMs = everyMs,
): () => Promise<void> {
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  let underWay: Promise<void> = Promise.resolve()

  function runIn(ms: number): void {
    if (stopped) return
    timer = setTimeout(() => {
      underWay = run()
    }, ms)
    timer.unref()
  }

  async function run(): Promise<void> {
    try {
      await task()
      runIn(everyMs)
    } catch (error) {
      onError(error)
      runIn(afterErrorMs)
    }
  }

  runIn(everyMs)
  return async () => {
    stopped = true
    clearTimeout(timer)
    await underWay
  }
}
