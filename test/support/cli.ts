import { expect } from 'vitest'
import { createTestDatabase } from './postgres.ts'
import { atCleanUp, makeDataDir, runCommand } from './process.ts'
import { SHARED_SECRETS } from './secrets.ts'

export type TestCli = {
  url: string
  env: Record<string, string>
  /** What the command prints for people; it has to succeed. */
  lines: (...args: string[]) => Promise<string>
  /** What it prints for programs: one JSON value and nothing else. */
  json: <T = Record<string, unknown>>(...args: string[]) => Promise<T>
  /** It has to fail with this code; answers what it says. */
  fails: (code: 1 | 2, ...args: string[]) => Promise<string>
}

/** The built commands, on a database of their own. */
export async function testCli(): Promise<TestCli> {
  const database = await createTestDatabase()
  atCleanUp(() => database.drop())
  return cliOn(database.url)
}

/** The same beside a gateway of the test. */
export async function cliOn(url: string): Promise<TestCli> {
  const env = { DATABASE_URL: url, DATA_DIR: await makeDataDir(), ...SHARED_SECRETS }
  async function lines(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await runCommand(args, { env })
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' })
    return stdout
  }
  return {
    url,
    env,
    lines,
    async json(...args) {
      const printed = await lines(...args, '--json')
      expect(printed).toMatch(/^[{[].*[}\]]\n$/)
      return JSON.parse(printed)
    },
    async fails(expected, ...args) {
      const { code, stdout, stderr } = await runCommand(args, { env })
      if (args.includes('--json')) {
        expect({ args, code, stderr }).toEqual({ args, code: expected, stderr: '' })
        return `${JSON.parse(stdout).error.message}\n`
      }
      expect({ args, code, stdout }).toEqual({ args, code: expected, stdout: '' })
      expect(stderr).not.toMatch(/\n\s+at /)
      return stderr
    },
  }
}
