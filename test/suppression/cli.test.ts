import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { hashEmail } from '../../src/platform/text/hashing.ts'
import { type TestCli, testCli } from '../support/cli.ts'
import { runCommand } from '../support/process.ts'

const WHY = 'asked for by the support desk'
const HASH = hashEmail('maria@example.com')

let cli: TestCli
let db: pg.Client
let folder: string

beforeAll(async () => {
  cli = await testCli()
  db = new pg.Client({ connectionString: cli.url })
  await db.connect()
  folder = await mkdtemp(join(tmpdir(), 'suppression-cli-'))
  cli.env.TMPDIR = folder
  await db.query(`insert into companies (company_id, name) values (gen_random_uuid(), 'loja')`)
})
afterAll(async () => {
  await db?.end()
  await rm(folder, { recursive: true, force: true })
})
beforeEach(() => db.query('truncate suppression_list, suppression_audit_log, suppression_daily'))

const suppression = <T = Record<string, unknown>>(...args: string[]) => cli.json<T>('suppression', ...args)
const file = async (name: string, ...lines: string[]) => {
  const path = join(folder, name)
  await writeFile(path, `${lines.join('\n')}\n`)
  return path
}
const list = async () =>
  (await db.query('select email_hash, reason, expires_at, company_id from suppression_list order by email_hash')).rows

test('an address is added, checked and removed, and the history says who and why', async () => {
  expect(await suppression('add', 'Maria@Example.com', '--justification', WHY, '--days', '7')).toMatchObject({
    emailHash: HASH,
    outcome: 'added',
    reason: 'MANUAL',
  })
  expect(await suppression('check', HASH)).toMatchObject({
    suppressed: true,
    entries: [{ reason: 'MANUAL', companyId: null }],
    auditLog: [{ action: 'ADDED', performedBy: `cli:${userInfo().username}`, justification: WHY }],
  })
  expect(await suppression('remove', HASH, '--justification', WHY, '--by', 'ana')).toMatchObject({
    removed: true,
    emailHash: HASH,
    removedBy: 'ana',
  })
  const text = await cli.lines('suppression', 'check', 'maria@example.com')
  expect(text).toContain(`${HASH} is not suppressed.`)
  expect(text).toMatch(/REMOVED {2}MANUAL {2}by ana: asked for/)
  expect(await cli.fails(1, 'suppression', 'remove', HASH, '--justification', WHY)).toContain('is not on that list')
})

test('a complaint is not removed from the command line either', async () => {
  await suppression('add', HASH, '--justification', WHY, '--reason', 'COMPLAINT')
  expect(await cli.fails(1, 'suppression', 'remove', HASH, '--justification', WHY)).toBe(
    'Cannot remove complaint suppressions (LGPD compliance).\n',
  )
})

test('what is called wrongly says what is missing, before anything is opened', async () => {
  expect(await cli.fails(2, 'suppression', 'add', HASH)).toContain('--justification TEXT is missing')
  expect(await cli.fails(2, 'suppression', 'check', 'maria')).toContain('has no @')
})

describe('a file', () => {
  test('is imported with what is wrong in it named by line, and exported as it can be imported', async () => {
    const path = await file(
      'mixed.csv',
      'email,reason,expires_at,company',
      'maria@example.com,HARD_BOUNCE,,',
      'ana@example.com,complaint,,',
      '"eva@example.com",MANUAL,never,loja',
      'no address,MANUAL,,',
      '',
      'bob@example.com,MANUAL,2027-01-31T10:00:00Z,nobody',
      'maria@example.com,MANUAL,,',
    )
    const { code, stdout } = await runCommand(['suppression', 'import', path, '--justification', WHY, '--json'], {
      env: cli.env,
    })
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toEqual({
      read: 6,
      added: 3,
      raised: 0,
      unchanged: 1,
      refused: 2,
      problems: [
        { line: 5, problem: 'The e-mail address has no @' },
        { line: 7, problem: 'names a company that does not exist' },
      ],
    })
    const imported = await list()
    expect(imported).toHaveLength(3)

    const out = join(folder, 'out.csv')
    expect(await suppression('export', '--out', out)).toEqual({ exported: 3, file: out })
    expect((await stat(out)).mode & 0o777).toBe(0o600)
    expect(await readFile(out, 'utf8')).not.toContain('@')
    await db.query('truncate suppression_list')
    expect(await suppression('import', out, '--justification', WHY, '--strict')).toMatchObject({ added: 3, refused: 0 })
    const again = await list()
    expect(again.map(({ expires_at: _, ...entry }) => entry)).toEqual(
      imported.map(({ expires_at: _, ...entry }) => entry),
    )
    again.forEach((entry, place) => {
      const [a, b] = [entry.expires_at, imported[place].expires_at]
      expect(a === null || b === null ? a === b : Math.abs(a - b) < 1000, entry.reason).toBe(true)
    })
    expect(await suppression('import', out, '--justification', WHY)).toMatchObject({
      added: 0,
      raised: 0,
      unchanged: 3,
    })
    expect((await readdir(folder)).filter(name => name.startsWith('email-gateway-import-'))).toEqual([])
  })

  test('with one bad line is not imported at all with --strict', async () => {
    const path = await file('bad.csv', 'email,reason', 'maria@example.com,MANUAL', 'ana@example.com,NEVER')
    const said = await cli.fails(1, 'suppression', 'import', path, '--justification', WHY, '--strict')
    expect(said).toContain('1 bad line; nothing was imported')
    expect(said).toContain('line 3: has a reason')
    expect(said).not.toContain('ana@')
    expect(await list()).toEqual([])
  })

  test('of twenty thousand is written in a few statements, in the name of one', async () => {
    const lines = Array.from({ length: 20_000 }, (_, n) => `r${n}@example.com;HARD_BOUNCE`)
    const path = await file('many.csv', 'email;reason', ...lines)
    expect(await suppression('import', path, '--justification', WHY, '--by', 'ana', '--company', 'loja')).toMatchObject(
      {
        added: 20_000,
      },
    )
    const { rows } = await db.query(
      `select count(*)::int as rows, count(distinct performed_at)::int as statements, count(distinct performed_by)::int as people
       from suppression_audit_log`,
    )
    expect(rows).toEqual([{ rows: 20_000, statements: 4, people: 1 }])
    expect((await suppression<unknown[]>('export', '--company', 'loja')).length).toBe(20_000)
  })

  test.each([
    ['is not there', null, 'cannot be read'],
    ['has no header', 'maria@example.com,MANUAL', 'its header'],
    ['is empty', '', 'its header'],
  ])('that %s is refused in one sentence', async (_what, content, sentence) => {
    const path = content === null ? join(folder, 'missing.csv') : await file('odd.csv', content)
    expect(await cli.fails(1, 'suppression', 'import', path, '--justification', WHY)).toContain(sentence)
  })
})
