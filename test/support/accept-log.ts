import { closeSync, fdatasync, openSync, readFileSync, write } from 'node:fs'
import { promisify } from 'node:util'

const writeTo = promisify(write)
const syncTo = promisify(fdatasync)

export type AcceptLog = { append(line: object): Promise<void>; close(): Promise<void> }

/** One JSON line for each; resolves when it is on the disk. What comes while the disk works shares the next sync. */
export function openAcceptLog(file: string): AcceptLog {
  const descriptor = openSync(file, 'a')
  let waiting = ''
  let next: Promise<void> | null = null
  let running = Promise.resolve()

  async function flush(previous: Promise<void>): Promise<void> {
    await previous
    const text = waiting
    waiting = ''
    next = null
    await writeTo(descriptor, text)
    await syncTo(descriptor)
  }

  return {
    append(line) {
      waiting += `${JSON.stringify(line)}\n`
      if (!next) {
        next = flush(running)
        running = next
      }
      return next
    },
    async close() {
      await running
      closeSync(descriptor)
    },
  }
}

/** Also of a fake that was killed: its last line may be cut, and was then never answered. */
export function readAcceptLog<T>(file: string): T[] {
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.slice(0, -1).map(line => JSON.parse(line) as T)
}
