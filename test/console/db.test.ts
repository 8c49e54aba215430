import { chmod, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TestCli, testCli } from '../support/cli.ts'
import { makeTestFolder } from '../support/postgres.ts'
import { atCleanUp, cleanUp, makeDataDirWithCluster, runGateway } from '../support/process.ts'

afterAll(cleanUp)

describe.concurrent('db shell', () => {
  let cli: TestCli
  beforeAll(async () => {
    cli = await testCli()
  })

  const COUNT = ['-At', '-c', 'select count(*) from companies']

  test('opens psql on the database of DATABASE_URL, with what follows -- as its arguments', async () => {
    expect(await runGateway(['db', 'shell', '--', ...COUNT], { env: cli.env })).toMatchObject({
      code: 0,
      stdout: '0\n',
    })
  })

  test('opens psql on the embedded database', async () => {
    const env = { DATA_DIR: await makeDataDirWithCluster() }
    await runGateway(['migrate'], { env })
    const { code, stdout, stderr } = await runGateway(['db', 'shell', '--', ...COUNT], { env })
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '0\n', stderr: '' })
  })

  test('does not put the password where ps shows it', async () => {
    const folder = await fakePsql('echo "$*"; echo "password $PGPASSWORD"')
    const env = { ...cli.env, PATH: `${folder}:${process.env.PATH}` }
    const { password } = new URL(cli.url)
    expect(password).not.toBe('')
    const { code, stdout } = await runGateway(['db', 'shell', '--', '-c', 'select 1'], { env })
    const [args, given] = stdout.trim().split('\n')
    expect({ code, given }).toEqual({ code: 0, given: `password ${decodeURIComponent(password)}` })
    expect(args).not.toContain(password)
    expect(args).toContain(new URL(cli.url).pathname)
    expect(args).toMatch(/ -c select 1$/)
  })

  test('fails when psql does', async () => {
    const { code } = await runGateway(['db', 'shell', '--', '-c', 'nonsense'], { env: cli.env })
    expect(code).toBe(1)
  })

  test('says how to get psql where it is missing', async () => {
    const { code, stdout, stderr } = await runGateway(['db', 'shell'], { env: { ...cli.env, PATH: '/nonexistent' } })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^psql is not installed[^\n]*postgresql-client[^\n]*\n$/)
  })

  test('is for people: with --json it is called wrongly', async () => {
    for (const args of [['--json'], ['--', '-c', 'select 1', '--json']]) {
      const { code, stdout, stderr } = await runGateway(['db', 'shell', ...args], { env: cli.env })
      expect({ args, code }).toEqual({ args, code: 2 })
      expect(stdout + stderr).toContain('--json cannot be used with db shell')
    }
  })

  async function fakePsql(script: string): Promise<string> {
    const folder = await makeTestFolder()
    atCleanUp(() => rm(folder, { recursive: true, force: true }))
    const file = join(folder, 'psql')
    await writeFile(file, `#!/bin/sh\n${script}\n`)
    await chmod(file, 0o755)
    return folder
  }
})
