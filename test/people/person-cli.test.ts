import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hashPassword, putAdministrator } from '../../src/admins/administrators.ts'
import { carryOutJobs } from '../../src/jobs/jobs.ts'
import { erasureJobs } from '../../src/people/erase.ts'
import { hashEmail } from '../../src/platform/text/hashing.ts'
import { addSuppressions } from '../../src/suppression/list.ts'
import { cliOn, type TestCli } from '../support/cli.ts'
import { rowsWith } from '../support/dump.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../support/gateway.ts'
import { type Json, rows, sendOk } from '../support/mail.ts'
import { accept, draft } from '../support/outbox.ts'
import { BIN, cleanUp, launchShell } from '../support/process.ts'

const LOGIN = { authorization: `Basic ${Buffer.from('ana:a password of ana').toString('base64')}` }
const CPF = '529.982.247-25'

let gateway: TestGateway
let company: TestCompany
let cli: TestCli
beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api' })
  company = await gateway.company()
  cli = await cliOn(gateway.databaseUrl)
  await putAdministrator(gateway.db.pool, 'ana', await hashPassword('a password of ana'))
})
afterAll(async () => {
  await gateway?.stop()
  await cleanUp()
})

test('an export has everything about the person and nobody else, by the command and by HTTP', async () => {
  const recipient = { externalId: 'client-1', cpfCnpj: CPF, nome: 'Maria' }
  const first = await sendOk(gateway, company, {
    to: 'Maria <maria@example.com>',
    cc: ['colleague@example.com'],
    subject: 'Invoice',
    html: '<p>1 "€"</p>',
    recipient,
    attachments: [{ filename: 'a.txt', content: 'aGk=' }],
  })
  const copy = await sendOk(gateway, company, { to: 'boss@example.com', cc: ['MARIA@example.com'] })
  await sendOk(gateway, company, { to: 'joao@example.com' })
  await addSuppressions(gateway.db.pool, [
    {
      companyId: null,
      emailHash: hashEmail('maria@example.com'),
      reason: 'MANUAL',
      expiresInDays: 0,
      metadata: {},
      performedBy: 'ana',
    },
  ])
  const expected = {
    exportedAt: expect.any(String),
    addresses: ['maria@example.com'],
    records: [
      expect.objectContaining({
        externalId: 'client-1',
        cpfCnpj: '52998224725',
        nome: 'Maria',
        companyName: company.name,
      }),
    ],
    suppressions: [expect.objectContaining({ address: 'maria@example.com', suppressed: true })],
    emails: [
      expect.objectContaining({
        outboxId: first,
        status: 'PENDING',
        subject: 'Invoice',
        recipients: [expect.objectContaining({ kind: 'to', address: 'maria@example.com', name: 'Maria' })],
        content: expect.objectContaining({ html: '<p>1 "€"</p>' }),
        attachments: [{ filename: 'a.txt', contentType: 'text/plain', bytes: 2 }],
        events: [expect.objectContaining({ type: 'QUEUED' })],
      }),
      expect.objectContaining({ outboxId: copy, recipients: [expect.objectContaining({ kind: 'cc' })] }),
    ],
    recordsLeftOut: 0,
  }
  const byHttp = await gateway.call(null, 'POST', '/admin/people/export', { email: 'Maria@Example.com' }, LOGIN)
  expect([byHttp.status, byHttp.body]).toEqual([200, expected])
  expect(byHttp.text).not.toMatch(/colleague@|boss@|joao@/)

  const file = join(cli.env.DATA_DIR!, 'maria.json')
  await cli.lines('person', 'export', '--cpf', CPF, '--out', file)
  expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(expected)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect(await cli.json('person', 'export', '--external-id', 'client-1', '--company', company.name)).toEqual(expected)
  const audit = await rows(
    gateway,
    `select action, subject_id, performed_by from audit_log where subject_type = 'person' order by id`,
  )
  expect(audit).toMatchObject([
    { action: 'EXPORTED', subject_id: expect.stringMatching(/^[0-9a-f]{64}$/), performed_by: 'ana' },
    { action: 'EXPORTED', performed_by: expect.stringMatching(/^cli:/) },
    { action: 'EXPORTED' },
  ])
})

test('a killed erasure goes on where it was, and the receipt counts each e-mail once', async () => {
  const COUNT = 450
  const ids = await accept(
    gateway.db.short,
    Array.from({ length: COUNT }, () => draft(company.companyId, { to: 'many@example.com' })),
  )
  const held = await gateway.db.pool.connect()
  await held.query('begin')
  await held.query('select from email_outbox where outbox_id = $1 for update', [ids[300]])
  const command = launchShell(`exec ${process.execPath} ${BIN} person erase --email many@example.com`, { env: cli.env })
  const open = () =>
    rows(gateway, `select job_id, counts from jobs where kind = 'erase-person' and finished_at is null`)
  const [{ job_id }] = await until(open, ([one]: Json[]) => one?.counts.emails === COUNT - 1, 30_000)
  command.signal('SIGKILL', 'group')
  await command.exited
  expect(await cli.lines('person', 'receipt', job_id)).toContain('not done yet (erasing)')
  await held.query('rollback')
  held.release()
  await carryOutJobs(gateway.db.pool, [erasureJobs], { log: console, workMs: 30_000 })
  const receipt = await cli.json('person', 'receipt', job_id)
  expect(receipt).toMatchObject({
    state: 'done',
    erased: { emails: COUNT, cancelled: COUNT, recipients: COUNT, contents: COUNT },
  })
  expect(await rowsWith(gateway.db.pool, 'many@example')).toEqual([])
  expect(await rows(gateway, 'select from email_ready where outbox_id = any($1)', [ids])).toEqual([])
  expect(await cli.lines('person', 'erase', '--email', 'many@example.com')).toContain(
    'Nothing of this person was found.',
  )
})

test('a former address leads to its e-mails and not to the record, and export, receipt and command say so', async () => {
  const recipient = { externalId: 'moved', nome: 'Moved' }
  await sendOk(gateway, company, { to: 'before@example.com', cc: ['witness@example.com'], recipient })
  await sendOk(gateway, company, { to: 'before@example.com', recipient })
  await sendOk(gateway, company, { to: 'after@example.com', recipient })
  const exported: Json = await cli.json('person', 'export', '--email', 'before@example.com')
  expect([exported.records, exported.emails.length, exported.recordsLeftOut]).toEqual([[], 2, 1])
  expect((await cli.json('person', 'export', '--email', 'witness@example.com')).recordsLeftOut).toBe(0)
  const lines = await cli.lines('person', 'erase', '--email', 'before@example.com')
  expect(lines).toContain('1 recipient records of these e-mails have another address now and were kept.')
  expect(lines).toContain('erase by --cpf or --external-id')
  const [receipt] = await rows(
    gateway,
    `select job_id as id from jobs where kind = 'erase-person' order by created_at desc limit 1`,
  )
  expect(await cli.json('person', 'receipt', receipt.id)).toMatchObject({ recordsKept: 1 })
  const whole = ['person', 'erase', '--external-id', 'moved', '--company', company.name]
  expect(await cli.json(...whole)).toMatchObject({ recordsKept: 0, erased: { recipientRecords: 1, emails: 1 } })
})

test('an erasure that waits for other recipients is named by the next one', async () => {
  const both = { to: 'staying@example.com', cc: ['leaving@example.com'], delay: 3_600_000 }
  await sendOk(gateway, company, both)
  const first = await cli.json('person', 'erase', '--email', 'leaving@example.com')
  expect(first).toMatchObject({ state: 'erasing', waiting: 1, unfinished: [] })
  const lines = await cli.lines('person', 'erase', '--email', 'leaving@example.com')
  expect(lines).toContain('Nothing more of this person was found.')
  expect(lines).toContain(`The earlier erasure ${first.receiptId} is not done yet: 1 e-mails wait.`)
})

test('the KPIs are an admin endpoint, of one company or all', async () => {
  const stats = (query: string) => gateway.call(null, 'GET', `/admin/stats${query}`, undefined, LOGIN)
  const { status, body } = await stats(`?company=${company.name}&since=2026-01-01T00:30:00Z&until=2026-01-02T00:00:00Z`)
  expect([status, body]).toEqual([
    200,
    {
      since: '2026-01-01T00:00:00.000Z',
      until: '2026-01-02T00:00:00.000Z',
      countedUntil: expect.any(String),
      companyId: company.companyId,
      emails: { accepted: 0, delivered: 0, failed: 0, recovered: 0, notRecovered: 0 },
      kpis: expect.objectContaining({ finalDeliveryRate: { value: null, target: '> 98 %', met: null } }),
    },
  ])
  expect((await stats('')).body.companyId).toBeNull()
  expect((await stats('?company=nobody')).status).toBe(422)
  expect((await stats('?from=2026-01-01T00:30:00Z')).status).toBe(422)
  expect((await gateway.call(company, 'GET', '/admin/stats')).status).toBe(401)
})

test('wrong arguments are explained without repeating them', async () => {
  expect(await cli.fails(2, 'person', 'erase')).toContain('give --email, --cpf or --external-id')
  const misplaced = await cli.fails(2, 'person', 'erase', 'maria@example.com')
  expect(misplaced).toContain('give the person as --email')
  expect(misplaced).not.toContain('maria@')
  expect(await cli.fails(2, 'person', 'erase', '--external-id', '42')).toContain(
    '--company: is required with --external-id',
  )
})
