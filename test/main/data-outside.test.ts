import { existsSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { atCleanUp, cleanUp, launchGateway, makeDataDir, runGateway } from '../support/process.ts'

afterAll(cleanUp)

/** An ordinary user runs Postgres as himself: his data are always in DATA_DIR. */
const asRoot = process.getuid?.() === 0

test.runIf(asRoot)(
  'as root below a folder that is closed to others, it is said where the database is and what belongs to it',
  async () => {
    const closed = join(await makeDataDir(), 'closed')
    await mkdir(closed, { mode: 0o700 })
    const env = { DATA_DIR: join(closed, 'data'), PORT: '0' }
    const migrated = await runGateway(['migrate', '--json'], { env, patienceMs: 60_000 })
    expect(migrated).toMatchObject({ code: 0, stderr: '' })
    const where = JSON.parse(migrated.stdout).database as string
    const directory = /^embedded Postgres in (\/var\/lib\/email-gateway\/data-[^/]+\/postgres), port \d+; /.exec(
      where,
    )![1]!
    atCleanUp(() => rm(dirname(directory), { recursive: true, force: true }))
    expect(where).toContain(`delete ${dirname(directory)} and ${env.DATA_DIR} together`)
    expect(existsSync(join(directory, 'PG_VERSION'))).toBe(true)
    expect(existsSync(join(env.DATA_DIR, 'secrets.json'))).toBe(true)
    const doctor = await runGateway(['doctor'], { env, patienceMs: 60_000 })
    expect(doctor.stdout).toContain(`delete ${dirname(directory)} and ${env.DATA_DIR} together`)
    const gateway = launchGateway({ env })
    await gateway.printed(/API at http/)
    expect(gateway.output()).toContain(`delete ${dirname(directory)} and ${env.DATA_DIR} together`)
    gateway.signal('SIGTERM')
    expect(await gateway.exited).toEqual({ code: 0, signal: null })
  },
)
