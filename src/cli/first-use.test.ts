import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { secretOutput } from './first-use.ts'

test('secrets that cannot be written stop the start with the commands that create new ones, and are not in the error', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'email-gateway-first-'))
  try {
    await mkdir(join(dataDir, 'first-start.txt'))
    const show = secretOutput({ dataDir }, false, pino({ level: 'silent' }))
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
