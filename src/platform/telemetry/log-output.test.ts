import { execFileSync } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { logOutput } from './log.ts'

const folder = mkdtempSync(join(tmpdir(), 'email-gateway-log-output-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const droppedLine = (count: number) => `${count} dropped\n`

test('every line is written, in order, however long it is and whatever its characters', async () => {
  const file = join(folder, 'lines')
  const fd = openSync(file, 'w')
  const output = logOutput(fd, droppedLine)
  const lines = Array.from({ length: 2_000 }, (_, n) => `${n} ${'ação 😀 \uffff'.repeat(n % 50)}\n`)
  lines.push(`${'long '.repeat(60_000)}\n`, 'last\n')
  for (const line of lines) output.write(line)
  await expect.poll(() => readFileSync(file, 'utf8')).toBe(lines.join(''))
  closeSync(fd)
})

test('an output that is not read costs memory up to a bound; then lines are dropped, and counted once it is read again', async () => {
  const fifo = join(folder, 'fifo')
  execFileSync('mkfifo', [fifo])
  const fd = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK)
  const output = logOutput(fd, droppedLine)
  const line = `${'x'.repeat(999)}\n`
  const written = 12_000
  for (let n = 0; n < written; n++) output.write(line)
  let text = ''
  const chunk = Buffer.alloc(1024 * 1024)
  const read = () => {
    try {
      text += chunk.toString('utf8', 0, readSync(fd, chunk))
    } catch (error) {
      expect((error as { code: string }).code).toBe('EAGAIN')
    }
    return /(\d+) dropped\n$/.exec(text)?.[1] ?? ''
  }
  await expect.poll(read, { interval: 5, timeout: 20_000 }).not.toBe('')
  const dropped = Number(read())
  expect(dropped).toBeGreaterThan(0)
  expect(text.split('\n').filter(one => one === 'x'.repeat(999))).toHaveLength(written - dropped)
  closeSync(fd)
})
