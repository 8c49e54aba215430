import type { Logger } from 'pino'

/** Why a running gateway ends. `asked`: a signal, exit code 0. `failed`: exit code 1. */
export type StopReason = { kind: 'asked' } | { kind: 'failed'; error: unknown }

export type StopWatch = {
  reason: Promise<StopReason>
  /** What to stop for, once there is something; the first reason counts. */
  now: () => StopReason | null
  fail: (error: unknown) => void
}

/**
 * From the first moment of a start to the end of the process: a signal stops it in whichever phase it is, a second one ends
 * it at once. An error that nobody handled (also an unhandled rejection, which Node raises as one) stops it as well: half
 * of a gateway must not go on.
 */
export function watchForStop(log: Logger): StopWatch {
  let first: StopReason | null = null
  let tell: (reason: StopReason) => void = () => {}
  const reason = new Promise<StopReason>(resolve => {
    tell = resolve
  })
  const stop = (why: StopReason) => {
    first ??= why
    tell(first)
  }
  let signals = 0
  const onSignal = (signal: NodeJS.Signals) => {
    signals++
    if (signals > 1) process.exit(1)
    log.info(`${signal}: finishing what is under way; a second signal ends at once`)
    stop({ kind: 'asked' })
  }
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal)
  process.on('uncaughtException', error => {
    log.fatal({ err: error }, 'Stopping: an error was not handled')
    stop({ kind: 'failed', error })
  })
  // Nobody reads what is printed: that is no reason to stop sending.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  return { reason, now: () => first, fail: error => stop({ kind: 'failed', error }) }
}
