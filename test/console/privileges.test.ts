import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestCli, testCli } from '../support/cli.ts'
import { atCleanUp, cleanUp, runCommand } from '../support/process.ts'

const ROLE = `reader_${randomBytes(6).toString('hex')}`
let owner: TestCli
let client: pg.Client

beforeAll(async () => {
  owner = await testCli()
  await owner.json('company', 'create', 'acme')
  client = new pg.Client({ connectionString: owner.url })
  await client.connect()
  await client.query(`create role ${ROLE} login password 'word'`)
  atCleanUp(async () => {
    await client.query(`drop owned by ${ROLE}`)
    await client.query(`drop role ${ROLE}`)
    await client.end()
  })
})
afterAll(cleanUp)

function asReader(...args: string[]) {
  const url = new URL(owner.url)
  Object.assign(url, { username: ROLE, password: 'word' })
  return runCommand(args, { env: { ...owner.env, DATABASE_URL: url.href } })
}

test('a role without privileges gets one sentence with its name and what to do, and a code of its own', async () => {
  for (const command of ['doctor', 'migrate', 'start'])
    expect(await asReader(command)).toMatchObject({
      code: 1,
      stdout: expect.not.stringContaining('    at '),
      stderr: expect.stringMatching(
        new RegExp(
          `^The role ${ROLE} lacks a privilege in the database \\(permission denied .*\\)\\. Use the role .*\\n$`,
        ),
      ),
    })
  const { stdout, stderr } = await asReader('doctor', '--json')
  expect(stderr).toBe('')
  expect(JSON.parse(stdout).error.code).toBe('INSUFFICIENT_PRIVILEGE')
})

test('doctor says of a role that may only read that it may not write', async () => {
  await client.query(`grant select on all tables in schema public to ${ROLE}`)
  const { stdout } = await asReader('doctor', '--json')
  const checks = JSON.parse(stdout).checks as { name: string }[]
  expect(checks.find(({ name }) => name === 'role')).toMatchObject({
    state: 'warning',
    detail: expect.stringMatching(
      new RegExp(`^${ROLE} may not write \\w+ and \\d+ other tables; .*need the role \\w+`),
    ),
  })
  expect(await asReader('company', 'update', 'acme', '--weight', '2')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^The role .* lacks a privilege/),
  })
  const own = JSON.parse((await runCommand(['doctor', '--json'], { env: owner.env })).stdout)
  expect(own.checks.find((check: { name: string }) => check.name === 'role')).toMatchObject({ state: 'ok' })
})
