import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { call } from '../support/gateway.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { atCleanUp, BIN, cleanUp, launchGateway, launchShell, makeDataDir, runGateway } from '../support/process.ts'
import { SHARED_SECRETS } from '../support/secrets.ts'

afterAll(cleanUp)

/** The only value that was printed. */
function onlyValue(printed: string) {
  expect(printed).toMatch(/^\{[^\n]*\}\n$/)
  return JSON.parse(printed)
}

describe.concurrent('with --json, a command that goes on running prints one JSON value', () => {
  test('start prints where it listens, and logs to standard error', async () => {
    const database = await createTestDatabase()
    atCleanUp(() => database.drop())
    const DATA_DIR = await makeDataDir()
    const env = { DATABASE_URL: database.url, PORT: '0', DATA_DIR, ...SHARED_SECRETS }
    const gateway = launchGateway({ env, args: ['--json'] })
    await gateway.printed(/\n/)
    const { url, ...rest } = onlyValue(gateway.output())
    expect(rest).toEqual({ role: 'all', smtpPort: null, metricsUrl: null, pid: gateway.pid })
    expect((await call(url, null, 'GET', '/health/live')).status).toBe(200)
    gateway.signal('SIGTERM')
    expect(await gateway.exited).toMatchObject({ code: 0 })
    onlyValue(gateway.output())
    const messages = gateway
      .errors()
      .trim()
      .split('\n')
      .map(line => JSON.parse(line).message)
    expect(messages).toEqual(expect.arrayContaining([expect.stringContaining(`API at ${url}`), 'Stopped']))
  })

  test('start that fails prints the error, also where a .env is read', async () => {
    const cwd = await makeDataDir()
    await writeFile(join(cwd, '.env'), 'DATABASE_URL=postgres://gateway@127.0.0.1:1/gateway\n')
    const { code, stdout, stderr } = await runGateway(['start', '--json'], { cwd, env: { ...SHARED_SECRETS } })
    expect({ code, ...onlyValue(stdout) }).toEqual({
      code: 1,
      error: { code: 'UNAVAILABLE', message: expect.stringContaining('127.0.0.1') },
    })
    expect(stderr).toContain(`Settings are read from ${join(cwd, '.env')}`)
  })

  test('demo prints how to sign in', { timeout: 120_000 }, async () => {
    const DATA_DIR = await makeDataDir()
    const demo = launchShell(`exec '${process.execPath}' '${BIN}' demo --json --data '${join(DATA_DIR, 'demo')}'`)
    await demo.printed(/\n/)
    const { url, user, password, ...rest } = onlyValue(demo.output())
    expect(rest).toMatchObject({ adminUrl: `${url}/admin`, docsUrl: `${url}/docs`, pid: demo.pid })
    const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
    expect((await call(url, null, 'GET', '/admin/companies', undefined, { authorization })).status).toBe(200)
    demo.signal('SIGINT')
    expect(await demo.exited).toMatchObject({ code: 0 })
    onlyValue(demo.output())
    expect(demo.errors()).toBe('')
  })
})
