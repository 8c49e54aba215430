import type { Logger } from 'pino'
import { DatabaseUnavailable, isLostConnection } from '../db/errors.ts'

/** Twenty tasks meet the same outage, some of them every second: it is one line of `part` when it begins and one when it ends. */
export function failureLog(log: Logger, part: string) {
  let away = false
  return {
    failed(task: string, error: unknown): void {
      const isAway = error instanceof DatabaseUnavailable || isLostConnection(error)
      if (!isAway) log.warn({ err: error, task }, `${part} failed; trying again`)
      else if (!away) log.warn({ err: error, task }, `${part} failed: the database is away; trying again`)
      away ||= isAway
    },
    succeeded(): void {
      if (away) log.info(`${part} goes on: the database is back`)
      away = false
    },
  }
}
