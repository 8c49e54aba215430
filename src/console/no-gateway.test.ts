import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { COMMANDS } from '../main/commands.ts'
import { readInput } from './arguments.ts'

const ID = '01920000-0000-7000-8000-000000000000'
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'email-gateway-none-'))
  vi.stubEnv('DATA_DIR', join(folder, 'data'))
  vi.stubEnv('DATABASE_URL', undefined)
})
afterAll(async () => {
  vi.unstubAllEnvs()
  await rm(folder, { recursive: true })
})

// The first one loads the modules, which takes long on a busy machine.
test.each([
  'company list',
  'email list',
  `email show ${ID}`,
  'dlq export',
  'template list',
  'stats',
  'suppression check maria@example.com',
  'person export --email maria@example.com',
  'send --to maria@example.com --subject Hello --text Hello',
])('where there is no gateway, "%s" says what to run and makes no folder', { timeout: 120_000 }, async line => {
  const [name, ...rest] = line.split(' ')
  const command = await COMMANDS[name!]!.load()
  await expect((async () => command.run(readInput(rest, command)))()).rejects.toThrow(
    /^There is no gateway in .*\/data yet: start it .*email-gateway migrate\. /,
  )
  expect(await readdir(folder)).toEqual([])
})
