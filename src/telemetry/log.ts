import { createRequire } from 'node:module'
import type { Writable } from 'node:stream'
import { type DestinationStream, type Logger, pino } from 'pino'
import type pinoPretty from 'pino-pretty'
import { maskSensitive } from '../contracts/masking.ts'
import { logOutput } from './log-output.ts'

export type LogOptions = {
  level: string
  pretty: boolean
  destination?: DestinationStream
  /** The file descriptor without a destination: 1, standard output, if not given. */
  fd?: 1 | 2
}

/** JSON lines; readable lines on a terminal. Addresses and documents in errors are masked. */
export function makeLog({ level, pretty: forPeople, destination, fd = 1 }: LogOptions): Logger {
  const options = {
    level,
    base: null,
    timestamp: timestamps(),
    messageKey: 'message',
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: maskedError, error: maskedError },
  }
  if (destination && !forPeople) return pino(options, destination)
  if (forPeople) {
    // Loaded only when needed: it would take a tenth of the start-up time of every command.
    const pretty = createRequire(import.meta.url)('pino-pretty') as typeof pinoPretty
    const screen = pretty({
      messageKey: 'message',
      timestampKey: 'timestamp',
      translateTime: 'HH:MM:ss.l',
      sync: true,
      // One line per request; only errors add their stack.
      singleLine: true,
      ...(destination && { destination: destination as Writable }),
    })
    return pino(options, { write: line => void screen.write(withoutControls(line)) })
  }
  return pino(options, logOutput(fd, droppedLine))
}

/** Written once a millisecond: at ten thousand lines a second, writing each took a fifth of a line's time. */
function timestamps(): () => string {
  let lastMs = Number.NaN
  let text = ''
  return () => {
    const nowMs = Date.now()
    if (nowMs === lastMs) return text
    lastMs = nowMs
    text = `,"timestamp":"${new Date(nowMs).toISOString()}"`
    return text
  }
}

/**
 * Terminals obey control characters, and log fields contain text of companies, receivers and providers. They are removed from the
 * JSON before colours are added: both those that JSON leaves as they are and those that it escapes, except tabs and line ends.
 */
const CONTROL_IN_JSON =
  /[\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]|\\(?:[bfr]|u00[01][0-9a-f]|u007f|u00[89][0-9a-f])|(\\[\s\S])/gi

function withoutControls(line: string): string {
  return line.replace(CONTROL_IN_JSON, (_control, otherEscape: string | undefined) => otherEscape ?? '')
}

const droppedLine = (count: number) =>
  `${JSON.stringify({ level: 'warn', timestamp: new Date().toISOString(), message: `${count} log lines were dropped because the output was not read` })}\n`

/** The stack of a connection that was refused or lost is the driver's, and the same on every line of an outage. */
const OUTAGE = /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOST|ENET|08|57P)/

/** Error messages of drivers and providers contain their input. */
function maskedError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { name, message, stack } = error
  const code = (error as { code?: string }).code
  return {
    name,
    code,
    message: maskSensitive(message),
    stack: isOutage(error) ? undefined : maskSensitive(stack ?? ''),
    cause: error.cause ? maskedError(error.cause) : undefined,
  }
}

function isOutage(error: Error): boolean {
  const { code, cause } = error as { code?: unknown; cause?: unknown }
  return OUTAGE.test(String(code ?? '')) || (cause instanceof Error && isOutage(cause))
}
