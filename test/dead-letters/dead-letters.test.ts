import { readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { insertCompany } from '../../src/companies/companies.ts'
import { purgeMatching } from '../../src/dead-letters/jobs.ts'
import {
  countDeadLetters,
  type DeadLetter,
  type DeadLetterCursor,
  findDeadLetter,
  listDeadLetters,
  purgeOldPayloads,
} from '../../src/outbox/dead-letters.ts'
import { validateDLQEntry } from '../../src/outbox/dlq-entry.ts'
import { type Database, openDatabase } from '../../src/platform/postgres/pool.ts'
import { uuidv7 } from '../../src/platform/text/uuid.ts'
import { type TestCli, testCli } from '../support/cli.ts'
import { EVERY_DEAD_LETTER, makeDead } from '../support/dead.ts'
import { tell } from '../support/feedback.ts'
import { accept, draft, readEmail, workOff } from '../support/outbox.ts'
import { BIN, cleanUp, makeDataDir, runCommand, runShell } from '../support/process.ts'

const NOBODYS = '01890000-0000-7000-8000-000000000000'
const A_DAY_SECONDS = 86_400

type Page = { data: DeadLetter[]; cursor: string | null }

let cli: TestCli
let db: Database

beforeAll(async () => {
  cli = await testCli()
  db = openDatabase(cli.url, () => {})
  await cli.lines('migrate')
})
afterAll(async () => {
  await db?.close()
  await cleanUp()
})

let made = 0
async function company(name = `company ${++made}`): Promise<{ companyId: string; name: string }> {
  return insertCompany(db.pool, { companyId: uuidv7(), name })
}

const idsOf = (entries: { outboxId: string }[]) => entries.map(one => one.outboxId)

describe('dlq list', () => {
  test('takes every filter, alone and together, newest first', async () => {
    const [acme, other] = [await company('acme'), await company('other')]
    const [old] = await makeDead(db.pool, acme.companyId, 1, { agoSeconds: 3 * A_DAY_SECONDS })
    const [refused] = await makeDead(db.pool, acme.companyId, 1, {
      ...{ status: 'REJECTED', code: 'MessageRejected', attempts: 1, agoSeconds: 5_000 },
    })
    const [failed] = await makeDead(db.pool, acme.companyId, 1, { status: 'FAILED', code: 'INVALID', agoSeconds: 90 })
    const [others] = await makeDead(db.pool, other.companyId, 1, { agoSeconds: 80 })
    const hourAgo = new Date(Date.now() - 3_600_000).toISOString()
    const expected: [string[], (string | undefined)[]][] = [
      [[], [others, failed, refused, old]],
      [
        ['--company', 'acme'],
        [failed, refused, old],
      ],
      [['--company', other.companyId], [others]],
      [
        ['--code', '421'],
        [others, old],
      ],
      [['--status', 'REJECTED'], [refused]],
      [['--status', 'failed'], [failed]],
      [
        ['--since', '2h'],
        [others, failed, refused],
      ],
      [
        ['--since', hourAgo],
        [others, failed],
      ],
      [['--until', '1d'], [old]],
      [['--until', hourAgo, '--since', '1d'], [refused]],
      [['--since', '2020-01-01', '--limit', '1'], [others]],
      [['--company', 'acme', '--status', 'DLQ', '--code', '421', '--since', '1w'], [old]],
      [['--code', 'SES_THROTTLING'], []],
      [['--code', 'ses_throttling'], []],
      [['--code', 'MessageRejected'], [refused]],
    ]
    const listed = expected.map(async ([args]) => [args, idsOf((await cli.json<Page>('dlq', 'list', ...args)).data)])
    expect(await Promise.all(listed)).toEqual(expected)
    const lines = (await cli.lines('dlq', 'list', '--company', 'acme', '--limit', '2')).trimEnd().split('\n')
    expect(lines).toHaveLength(3)
    expect(lines[1]).toMatch(
      new RegExp(`^\\S+Z  ${refused}  acme  REJECTED  MessageRejected  1 attempt  Service not available$`),
    )
    const rest = await cli.lines('dlq', 'list', '--company', 'acme', ...lines[2]!.split(' '))
    expect(rest.trimEnd().split('\n')).toEqual([expect.stringContaining(old!)])
    expect(await cli.lines('dlq', 'list', '--code', 'SES_THROTTLING')).toBe('No dead letters match this filter.\n')
  })

  test('pages through a thousand entries without a gap or a repeat while new ones arrive', async () => {
    const { companyId } = await company()
    const ids = await makeDead(db.pool, companyId, 1_000)
    // A settled batch has one time for all.
    await db.pool.query(
      `update dead_letters set moved_at = date_trunc('second', moved_at) + interval '7 microseconds' where company_id = $1`,
      [companyId],
    )
    const seen: string[] = []
    let after: DeadLetterCursor | null = null
    do {
      const filter = { ...EVERY_DEAD_LETTER, companyId }
      const page: Awaited<ReturnType<typeof listDeadLetters>> = await listDeadLetters(db.pool, filter, {
        after,
        limit: 37,
      })
      seen.push(...idsOf(page.entries))
      after = page.nextCursor
      await makeDead(db.pool, companyId, 3, { agoSeconds: 0 })
    } while (after)
    expect(seen).toHaveLength(1_000)
    expect([...seen].sort()).toEqual([...ids].sort())
  })

  test('does not let a provider write on the terminal', async () => {
    const { companyId, name } = await company()
    await makeDead(db.pool, companyId, 1, { reason: `\u001b[2J550 no\r\nsuch ${'user '.repeat(50)}` })
    const printed = await cli.lines('dlq', 'list', '--company', name)
    expect(printed).toMatch(/ {2}5 attempts {3}\[2J550 no such user .{1,90}…\n$/)
  })
})

describe('dlq show', () => {
  test('shows everything about an entry that the pipeline made, as the contract wants it', async () => {
    const { companyId, name } = await company()
    const [outboxId] = await accept(db.pool, [
      draft(companyId, { to: 'reject@simulator.test', cc: ['ana@example.com'], tags: ['boleto'], externalId: 'BOL-1' }),
    ])
    await workOff(db.pool)
    const entry = await cli.json<DeadLetter>('dlq', 'show', outboxId!)
    const { status, companyName, replayable, payloadPurged, ...seeds } = entry
    expect(validateDLQEntry(entry)).toMatchObject({
      ...seeds,
      retryHistory: [{ attempt: 1, error: 'SES_MESSAGE_REJECTED', providerCode: 'MessageRejected' }],
    })
    expect({ status, companyName, replayable, payloadPurged }).toEqual({
      ...{ status: 'REJECTED', companyName: name, replayable: true, payloadPurged: false },
    })
    expect(entry).toMatchObject({
      jobId: outboxId,
      failedAttempts: 1,
      lastFailureCode: 'SES_MESSAGE_REJECTED',
      providerCode: 'MessageRejected',
      ttl: 604800000,
    })
    expect(entry.originalData).toMatchObject({
      ...{ outboxId, subject: 'Hello', tags: ['boleto'], externalId: 'BOL-1', from: 'shop@example.com' },
      ...{ to: ['reject@simulator.test'], cc: ['ana@example.com'], bcc: [], priority: 5 },
    })
    const printed = await cli.lines('dlq', 'show', outboxId!)
    expect(printed).toMatch(
      /REJECTED[\s\S]*SES_MESSAGE_REJECTED \(MessageRejected\) {2}Email address is not verified\.[\s\S]*attempt 1/,
    )
    expect(printed).toContain('to: r***@s***.test\ncc: a***@e***.com\n')
    expect(printed).not.toContain('ana@example.com')
    expect(printed).toMatch(new RegExp(`dlq replay ${outboxId}\n$`))
  })

  const DELIVERY = { kind: 'DELIVERED', recipient: 'maria@example.com', metadata: {} } as const

  test('of an e-mail that was delivered after all finds no entry any more', async () => {
    const { companyId } = await company()
    const [outboxId] = await makeDead(db.pool, companyId, 1)
    await tell(db.pool, outboxId!, 'm-1', DELIVERY)
    expect(await cli.fails(1, 'dlq', 'show', outboxId!)).toBe(`There is no dead letter ${outboxId}.\n`)
    expect(await cli.fails(1, 'dlq', 'replay', outboxId!)).toContain('the e-mail is DELIVERED')
    expect((await readEmail(db.pool, outboxId!)).email.status).toBe('DELIVERED')
  })

  test('of an entry whose e-mail was delivered says that it cannot be replayed', async () => {
    const { companyId } = await company()
    const [outboxId] = await makeDead(db.pool, companyId, 1, { status: 'EXPIRED' })
    await tell(db.pool, outboxId!, 'm-1', DELIVERY)
    // Written by a settlement that the report waited for: the report could not see it yet.
    await db.pool.query(
      `insert into dead_letters (outbox_id, company_id, failed_attempts, last_failure_reason, last_failure_code, last_failure_at,
         retry_history, original_data, enqueued_at) values ($1, $2, 5, 'Service not available', '421', now(), '[]', '{}', now())`,
      [outboxId, companyId],
    )
    expect(await cli.json('dlq', 'show', outboxId!)).toMatchObject({ status: 'DELIVERED', replayable: false })
    expect(await cli.lines('dlq', 'show', outboxId!)).toMatch(/cannot be replayed: the e-mail is DELIVERED by now\.\n$/)
    expect(await cli.fails(1, 'dlq', 'replay', outboxId!)).toContain('the e-mail is DELIVERED')
  })

  test('of an e-mail that retention has dropped tells what is left', async () => {
    const { companyId } = await company()
    const [outboxId] = await makeDead(db.pool, companyId, 1)
    await db.pool.query('delete from email_outbox where outbox_id = $1', [outboxId])
    const entry = await findDeadLetter(db.pool, outboxId!)
    expect(validateDLQEntry(entry)).toMatchObject({ outboxId })
    expect(entry).toMatchObject({ status: null, replayable: false })
  })

  test('of an unknown id fails in one sentence', async () => {
    expect(await cli.fails(1, 'dlq', 'show', NOBODYS)).toBe(`There is no dead letter ${NOBODYS}.\n`)
  })
})

describe('dlq export', () => {
  const COUNT = 2_600
  let name: string
  let ids: string[]

  beforeAll(async () => {
    const made = await company()
    name = made.name
    ids = await makeDead(db.pool, made.companyId, COUNT)
  })

  const entriesIn = (text: string): DeadLetter[] =>
    text
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))

  test('writes one JSON value a line, every entry once, each as the contract wants it', async () => {
    const entries = entriesIn(await cli.lines('dlq', 'export', '--company', name))
    expect(idsOf(entries)).toEqual([...ids].reverse())
    for (const entry of entries)
      expect(validateDLQEntry(entry).originalData).toMatchObject({ to: ['maria@example.com'] })
    expect(entriesIn(await cli.lines('dlq', 'export', '--company', name, '--limit', '501'))).toHaveLength(501)
  })

  test('with --json is one array, also when it is empty', async () => {
    expect(idsOf(await cli.json<DeadLetter[]>('dlq', 'export', '--company', name))).toEqual([...ids].reverse())
    expect(await cli.json('dlq', 'export', '--code', 'SES_THROTTLING')).toEqual([])
  })

  test('into a file leaves standard output to the answer, and the file to its owner', async () => {
    const file = join(await makeDataDir(), 'dead.jsonl')
    expect(await cli.json('dlq', 'export', '--company', name, '--out', file)).toEqual({ exported: COUNT, file })
    expect(idsOf(entriesIn(await readFile(file, 'utf8')))).toHaveLength(COUNT)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(await cli.fails(1, 'dlq', 'export', '--out', '/nonexistent/dead.jsonl')).toContain('cannot be written')
  })

  test('follows no link', async () => {
    const folder = await makeDataDir()
    const victim = join(folder, 'victim')
    await writeFile(victim, 'mine')
    await symlink(victim, join(folder, 'dead.jsonl'))
    const said = await cli.fails(1, 'dlq', 'export', '--company', name, '--out', join(folder, 'dead.jsonl'))
    expect(said).toContain('is a link, which is not followed')
    expect(await readFile(victim, 'utf8')).toBe('mine')
    expect(await cli.fails(1, 'dlq', 'export', '--out', folder)).toContain('is not a file')
  })

  test('to a reader that has seen enough ends quietly', async () => {
    const { code, stdout, stderr } = await runShell(`node ${BIN} dlq export --company "${name}" | head -n 2`, {
      env: cli.env,
    })
    expect({ code, stderr, lines: entriesIn(stdout).length }).toEqual({ code: 0, stderr: '', lines: 2 })
  })
})

describe('dlq purge', () => {
  test('says how many would go, and removes them only with --yes; the e-mails stay as they are', async () => {
    const { companyId, name } = await company()
    const [first, ...others] = await makeDead(db.pool, companyId, 1_003)
    const mine = ['dlq', 'purge', '--company', name]
    expect(await cli.fails(2, ...mine)).toMatch(
      /^1003 entries would be purged for good; add --yes to do it, or --dry-run to list them\.\n\nemail-gateway dlq /,
    )
    expect(await cli.fails(2, ...mine, '--limit', '2', '--json')).toMatch(/^2 entries/)
    expect(await cli.json(...mine, '--yes', '--limit', '1')).toEqual({ purged: 1 })
    expect(await findDeadLetter(db.pool, first!)).toBeNull()
    expect(await cli.fails(1, 'dlq', 'replay', first!)).toContain('is not in the dead letter queue: the e-mail is DLQ')
    expect(await cli.lines(...mine, '--yes')).toBe('Purged 1002 entries\n')
    const stored = await readEmail(db.pool, others[0]!)
    expect([stored.email.status, stored.dead]).toEqual(['DLQ', undefined])
  })

  test('takes the filters that list takes', async () => {
    const { companyId } = await company()
    await makeDead(db.pool, companyId, 3, { status: 'FAILED', code: 'X' })
    await makeDead(db.pool, companyId, 2, { agoSeconds: 100 * A_DAY_SECONDS })
    const filter = { ...EVERY_DEAD_LETTER, companyId }
    const monthsAgo = new Date(Date.now() - 60 * A_DAY_SECONDS * 1000).toISOString()
    const purge = (change: object, limit: number) =>
      purgeMatching(db.pool, { ...filter, ...change }, { by: 'test', limit })
    expect(await purge({ until: monthsAgo }, 10)).toEqual({ purged: 2 })
    expect(await purge({ status: 'DLQ' }, 10)).toEqual({ purged: 0 })
    expect(await purge({ status: 'FAILED', code: 'X' }, 2)).toEqual({ purged: 2 })
    expect(await countDeadLetters(db.pool, filter)).toEqual({
      all: 1,
      replayable: 1,
      payloadPurged: 0,
      outcomeUnknown: 0,
    })
  })
})

describe('the payload', () => {
  test('goes after seven days, in bites, and what is known about the failure stays', async () => {
    const { companyId, name } = await company()
    const old = await makeDead(db.pool, companyId, 25, { agoSeconds: 7 * A_DAY_SECONDS + 60 })
    const [young] = await makeDead(db.pool, companyId, 1, { agoSeconds: 7 * A_DAY_SECONDS - 60 })
    await purgeOldPayloads(db.pool, 7, 10)
    const kept = await db.pool.query(
      `select outbox_id, html, text, headers, (select count(*)::int from email_attachments f where f.outbox_id = c.outbox_id) as files
       from email_content c where outbox_id = any($1)`,
      [[...old, young]],
    )
    for (const { outbox_id, ...content } of kept.rows) {
      expect(content).toEqual(
        outbox_id === young
          ? { html: '<p>It works.</p>', text: 'It works.', headers: { 'X-A': 'b' }, files: 1 }
          : { html: null, text: null, headers: null, files: 0 },
      )
    }
    const entry = await cli.json<DeadLetter>('dlq', 'show', old[0]!)
    expect(validateDLQEntry(entry)).toMatchObject({ originalData: {}, lastFailureReason: 'Service not available' })
    expect(entry).toMatchObject({ payloadPurged: true, replayable: false, status: 'DLQ' })
    expect(await cli.lines('dlq', 'show', old[0]!)).toMatch(/cannot be replayed: its payload was purged\.\n$/)
    expect(await cli.fails(1, 'dlq', 'replay', old[0]!)).toBe(`${old[0]} cannot be replayed: its payload was purged.\n`)
    expect(await cli.lines('dlq', 'replay', '--company', name)).toBe('Replayed 1 entry, skipped: 25 payload purged\n')
    expect(await purgeOldPayloads(db.pool, 7)).toBe(0)
  })
})

describe.concurrent('called wrongly, dlq shows its usage and exits 2', () => {
  test.each([
    ['dlq'],
    ['dlq empty'],
    ['dlq list more'],
    ['dlq list --yes'],
    ['dlq list --limit 1001'],
    ['dlq list --after nonsense'],
    ['dlq list --since yesterday'],
    ['dlq list --until 2026-13-01'],
    ['dlq list --status SENT'],
    ['dlq show'],
    ['dlq show nonsense'],
    [`dlq show ${NOBODYS} ${NOBODYS}`],
    ['dlq replay'],
    ['dlq replay --limit 5'],
    ['dlq replay nonsense'],
    [`dlq replay ${NOBODYS} --all`],
    [`dlq replay ${NOBODYS} --company acme`],
    ['dlq export --yes'],
    ['dlq purge --yes'],
    [`dlq purge ${NOBODYS} --yes`],
    ['dlq purge --all --after x'],
  ])('%s', async line => {
    const { code, stdout, stderr } = await runCommand(line.split(' '), { env: { DATABASE_URL: 'nonsense' } })
    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/^[^\n]+[.?]\n\nemail-gateway dlq list/),
    })
  })

  test('an unknown company is a failure, not a filter that is left out', async () => {
    expect(await cli.fails(1, 'dlq', 'purge', '--company', 'nobody', '--yes')).toContain('nobody')
  })
})
