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
    const screen = pretty({
      messageKey: 'message',
      timestampKey: 'timestamp',
      translateTime: 'HH:MM:ss.l',
      sync: true,
      // So that requests can be read down the screen; only errors bring their stack.
      singleLine: true,
      ...(destination && { destination: destination as Writable }),
    })
    return pino(options, { write: line => void screen.write(withoutControls(line)) })
  }
  return pino(options, logOutput(1, droppedLine))
}

/**
 * A terminal obeys them, and fields hold what companies, receivers and providers wrote. Taken out of the JSON, before colours come in:
 * those that JSON lets stand, and those that it escapes, except for tabs and ends of lines.
 */
const CONTROL_IN_JSON =
  /[\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]|\\(?:[bfr]|u00[01][0-9a-f]|u007f|u00[89][0-9a-f])|(\\[\s\S])/gi

function withoutControls(line: string): string {
  return line.replace(CONTROL_IN_JSON, (_control, otherEscape: string | undefined) => otherEscape ?? '')
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
