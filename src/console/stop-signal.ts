import type { Logger } from 'pino'
import { finishedWithin } from '../platform/sleep.ts'

/** `asked`: SIGTERM, SIGINT or SIGHUP, exit code 0. `failed`: exit code 1. */
type StopReason = { kind: 'asked' } | { kind: 'failed'; error: unknown }

export type StopSignal = {
  reason: Promise<StopReason>
  /** null: no stop was requested yet. The first reason counts. */
  now: () => StopReason | null
  fail: (error: unknown) => void
}

/** To tell an embedded server to stop, which then finishes on its own. */
const ABANDON_MS = 1_000

/**
 * Installed before anything is started: the first signal stops the gateway in any phase, a second one exits at once, after `abandon`. An uncaught
 * exception (or unhandled rejection) stops it as well, because its state is unknown then.
 */
export function listenForStop(log: Logger, abandon: () => Promise<void>): StopSignal {
  let first: StopReason | null = null
  let resolveReason: (reason: StopReason) => void = () => {}
  const reason = new Promise<StopReason>(resolve => {
    resolveReason = resolve
  })
  const stop = (why: StopReason) => {
    first ??= why
    resolveReason(first)
  }
  let signals = 0
  const onSignal = (signal: NodeJS.Signals) => {
    signals++
    if (signals > 2) process.exit(1)
    if (signals === 2) {
      finishedWithin(
        ABANDON_MS,
        abandon().catch(() => {}),
      ).finally(() => process.exit(1))
      return
    }
    log.info(`${signal}: finishing running work; a second signal exits at once`)
    stop({ kind: 'asked' })
  }
  // SIGHUP: its terminal was closed.
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal).on('SIGHUP', onSignal)
  process.on('uncaughtException', error => {
    log.fatal({ err: error }, 'Stopping because of an uncaught exception')
    stop({ kind: 'failed', error })
  })
  // A closed pipe on stdout or stderr must not stop the gateway.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  return { reason, now: () => first, fail: error => stop({ kind: 'failed', error }) }
}
