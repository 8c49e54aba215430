import { createRequire } from 'node:module'
import type { Writable } from 'node:stream'
import { type DestinationStream, type Logger, pino } from 'pino'
import type pinoPretty from 'pino-pretty'
import { maskSensitive } from '../contracts/masking.ts'
import { logOutput } from './log-output.ts'

export type LogOptions = { level: string; pretty: boolean; destination?: DestinationStream }

/** JSON lines with the fields of the source documents; pretty on a terminal. Addresses and documents never in clear. */
export function makeLog({ level, pretty: forPeople, destination }: LogOptions): Logger {
  const options = {
    level,
    base: null,
    timestamp: () => `,"timestamp":"${new Date().toISOString()}"`,
    messageKey: 'message',
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: maskedError, error: maskedError },
  }
  if (destination && !forPeople) return pino(options, destination)
  if (forPeople) {
    // Loaded where somebody watches: elsewhere it would be a tenth of every start.
    const pretty = createRequire(import.meta.url)('pino-pretty') as typeof pinoPretty
    return pino(
      options,
      pretty({
        messageKey: 'message',
        timestampKey: 'timestamp',
        translateTime: 'HH:MM:ss.l',
        sync: true,
        // So that requests can be read down the screen; only errors bring their stack.
        singleLine: true,
        ...(destination && { destination: destination as Writable }),
      }),
    )
  }
  return pino(options, logOutput(1, droppedLine))
}

const droppedLine = (count: number) =>
  `${JSON.stringify({ level: 'warn', timestamp: new Date().toISOString(), message: `${count} log lines were dropped: nobody read the output` })}\n`

/** Errors of drivers and providers quote what they were given. */
function maskedError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { name, message, stack } = error
  const code = (error as { code?: string }).code
  return {
    name,
    code,
    message: maskSensitive(message),
    stack: maskSensitive(stack ?? ''),
    cause: error.cause ? maskedError(error.cause) : undefined,
  }
}
