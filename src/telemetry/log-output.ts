import { write, writeSync } from 'node:fs'
import type { DestinationStream } from 'pino'

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
