import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { secretOutput } from './first-use.ts'

const BOTH = { apiKey: 'sk_live_0_1', password: 'hunter2' }

test.each([
  ["First start: the API key and the administrator's password are", BOTH],
  ['There was no administrator, so ana was made: the new password is', { ...BOTH, apiKey: null }],
  ['There was no company, so demo was made: its API key is', { ...BOTH, password: null }],
])('the log says what a start has made: "%s in …"', async (sentence, first) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'email-gateway-first-'))
  try {
    const lines: string[] = []
    const log = pino({ level: 'info' }, { write: line => void lines.push(JSON.parse(line).msg) })
    await secretOutput({ dataDir, ADMIN_USER: 'ana' }, first, false, log)(['Password hunter2'])
    expect(lines).toEqual([`${sentence} in ${join(dataDir, 'first-start.txt')}; read it, then delete it`])
  } finally {
    await rm(dataDir, { recursive: true })
  }
})

test('secrets that cannot be written stop the start with the commands that create new ones, and are not in the error', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'email-gateway-first-'))
  try {
    await mkdir(join(dataDir, 'first-start.txt'))
    const show = secretOutput({ dataDir, ADMIN_USER: 'admin' }, BOTH, false, pino({ level: 'silent' }))
    const error = await show(['Password hunter2']).catch((refusal: Error) => refusal)
    expect(error).toMatchObject({ name: 'CommandFailed' })
    const { message } = error as Error
    for (const part of ['first-start.txt', 'email-gateway admin add', 'email-gateway key create'])
      expect(message).toContain(part)
    expect(message).not.toContain('hunter2')
  } finally {
    await rm(dataDir, { recursive: true })
  }
})

test.each<[what: string, plant: (file: string) => unknown]>([
  ['a file that others can read', file => writeFile(file, '', { mode: 0o644 })],
  ['a named pipe', file => execFileSync('mkfifo', ['-m', '600', file])],
  [
    'a file with a second name',
    async file => {
      await writeFile(file, '', { mode: 0o600 })
      execFileSync('ln', [file, `${file}.other`])
    },
  ],
])('secrets are not written to %s that was there before', async (_, plant) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'email-gateway-first-'))
  try {
    await plant(join(dataDir, 'first-start.txt'))
    const show = secretOutput({ dataDir, ADMIN_USER: 'admin' }, BOTH, false, pino({ level: 'silent' }))
    await expect(show(['Password hunter2'])).rejects.toMatchObject({ name: 'CommandFailed' })
  } finally {
    await rm(dataDir, { recursive: true })
  }
})

test('secrets of a second part are added to the file of the first', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'email-gateway-first-'))
  try {
    for (const line of ['one', 'two'])
      await secretOutput({ dataDir, ADMIN_USER: 'admin' }, BOTH, false, pino({ level: 'silent' }))([line])
    expect(await readFile(join(dataDir, 'first-start.txt'), 'utf8')).toBe('one\ntwo\n')
  } finally {
    await rm(dataDir, { recursive: true })
  }
})
