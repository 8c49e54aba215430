import { write, writeSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Writable } from 'node:stream'
import { type DestinationStream, type Logger, pino } from 'pino'
import type pinoPretty from 'pino-pretty'
import { maskSensitive } from '../text/masking.ts'

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

/** Lines are written together, because at ten thousand lines a second a system call per line would cost more than the line. */
const GATHER_BYTES = 65_536
const GATHER_MS = 100
/** The buffer for an output that is not read. When it is full, lines are dropped and counted. */
const MAX_WAITING_BYTES = 8 * 1024 * 1024
const RETRY_MS = 50
/** So many waits of RETRY_MS for a slow reader when the process exits. */
const MAX_EXIT_RETRIES = 20

/**
 * Writes log lines to a file descriptor without blocking the process or its exit: nothing more is written to a closed output, and an
 * output that is not read is not waited for. (pino's own destination repeats the last write of a process for ever when the output
 * is closed: `flushSync` of sonic-boom 4.2.1.)
 */
export function logOutput(fd: number, droppedLine: (count: number) => string): DestinationStream {
  let waiting = ''
  let dropped = 0
  let writing: Buffer | null = null
  let isClosed = false
  let timer: NodeJS.Timeout | undefined

  function add(line: string): void {
    if (isClosed) return
    if (waiting.length > MAX_WAITING_BYTES) {
      dropped++
      return
    }
    waiting += line
    if (waiting.length >= GATHER_BYTES) flush()
    else timer ??= setTimeout(flush, GATHER_MS).unref()
  }

  function flush(): void {
    clearTimeout(timer)
    timer = undefined
    if (writing || waiting === '') return
    writing = Buffer.from(takeWaiting())
    writeRest()
  }

  function takeWaiting(): string {
    const text = dropped > 0 ? waiting + droppedLine(dropped) : waiting
    waiting = ''
    dropped = 0
    return text
  }

  function writeRest(): void {
    write(fd, writing!, (error, written) => {
      if (error) return onError(error)
      writing = writing!.subarray(written)
      if (writing.length > 0) return writeRest()
      writing = null
      flush()
    })
  }

  function onError(error: NodeJS.ErrnoException): void {
    if (isBusy(error)) return void setTimeout(writeRest, RETRY_MS)
    isClosed = true
    waiting = ''
  }

  /** Not while a write is under way: it may wait for its reader for ever, and so would this one. */
  function finish(): void {
    if (writing || isClosed) return
    let rest = Buffer.from(takeWaiting())
    for (let busy = 0; rest.length > 0 && busy < MAX_EXIT_RETRIES; ) {
      try {
        rest = rest.subarray(writeSync(fd, rest))
      } catch (error) {
        if (!isBusy(error as NodeJS.ErrnoException)) return
        busy++
        pause(RETRY_MS)
      }
    }
  }

  process.once('exit', finish)
  return { write: add }
}

const isBusy = ({ code }: NodeJS.ErrnoException) => code === 'EAGAIN' || code === 'EBUSY'

const pause = (ms: number) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
