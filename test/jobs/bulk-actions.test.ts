import type { Logger } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hashPassword, putAdministrator } from '../../src/admins/administrators.ts'
import type { BulkAction } from '../../src/dead-letters/bulk-actions.ts'
import { purgeJobs, replayJobs, submitWalk } from '../../src/dead-letters/jobs.ts'
import { carryOutJobs } from '../../src/jobs/jobs.ts'
import { hashEmail } from '../../src/platform/text/hashing.ts'
import { importJobs } from '../../src/suppression/import.ts'
import { EVERY_DEAD_LETTER, makeDead, replaysOf } from '../support/dead.ts'
import { type Answer, startTestGateway, type TestGateway } from '../support/gateway.ts'
import { rows } from '../support/mail.ts'

const LOGIN = { authorization: `Basic ${Buffer.from('ana:a password of ana').toString('base64')}` }
const WHY = 'The provider works again'
const NOBODYS = '01890000-0000-7000-8000-000000000000'

let gateway: TestGateway
beforeAll(async () => {
  // No worker: each test says when a batch is carried out.
  gateway = await startTestGateway({ role: 'api' })
  await putAdministrator(gateway.db.pool, 'ana', await hashPassword('a password of ana'))
})
afterAll(() => gateway?.stop())

const admin = (method: string, path: string, body?: unknown): Promise<Answer> =>
  gateway.call(null, method, `/admin/bulk-actions${path}`, body, LOGIN)
const show = async (actionId: string): Promise<BulkAction> => (await admin('GET', `/${actionId}`)).body
const dead = (companyId: string, count: number, change = {}) => makeDead(gateway.db.pool, companyId, count, change)

async function start(body: object): Promise<BulkAction> {
  const answer = await admin('POST', '', { reason: WHY, ...body })
  expect(answer).toMatchObject({ status: 202, body: { state: 'waiting', requestedBy: 'ana', reason: WHY } })
  return answer.body
}

const failures: string[] = []
const log = { error: ({ err }: { err: Error }) => void failures.push(err.message) } as unknown as Logger
const carryOut = (workMs = 30_000) =>
  carryOutJobs(gateway.db.pool, [replayJobs, purgeJobs, importJobs], { log, workMs })

const auditOf = (actionId: string) =>
  rows(gateway, 'select action, performed_by, reason, after from audit_log where subject_id = $1 order by id', [
    actionId,
  ])

describe('a replay of all that match', () => {
  test('takes what existed when it was asked for, each once, and says what could not be replayed', async () => {
    const { companyId } = await gateway.company()
    await dead(companyId, 450, { code: 'THROTTLED' })
    const others = await dead(companyId, 2, { code: 'OTHER' })
    const [emptied] = await dead(companyId, 1, { code: 'THROTTLED', agoSeconds: 30 })
    await gateway.db.pool.query('update dead_letters set original_data = null where outbox_id = $1', [emptied])
    const action = await start({ kind: 'replay-dead-letters', filter: { company: companyId, code: 'THROTTLED' } })
    expect(action).toMatchObject({ total: 451, done: 0, failed: 0, startedAt: null })
    const [late] = await dead(companyId, 1, { code: 'THROTTLED', agoSeconds: -60 })

    await carryOut()
    expect(await show(action.actionId)).toMatchObject({
      state: 'done',
      total: 451,
      done: 450,
      failed: 1,
      counts: { replayed: 450, payloadPurged: 1 },
      lastError: null,
    })
    expect(await replaysOf(gateway.db.pool, companyId)).toEqual({
      pending: 450,
      events: 450,
      ready: 450,
      dead: 4,
      twice: 0,
    })
    const left = await rows(gateway, 'select outbox_id from dead_letters where company_id = $1', [companyId])
    expect(left.map(one => one.outbox_id).sort()).toEqual([...others, emptied, late].sort())
    const result = { kind: 'replay-dead-letters', total: 451, done: 450, failed: 1 }
    expect(await auditOf(action.actionId)).toMatchObject([
      { action: 'STARTED', performed_by: 'ana', reason: WHY, after: { total: 451, selection: { code: 'THROTTLED' } } },
      { action: 'FINISHED', performed_by: 'ana', after: result },
    ])
  })

  test('leaves out what may have been sent, unless its code is named', async () => {
    const { companyId } = await gateway.company()
    await dead(companyId, 1)
    await dead(companyId, 1, { code: 'SEND_OUTCOME_UNKNOWN' })
    const filter = { company: companyId }
    expect(await start({ kind: 'replay-dead-letters', filter })).toMatchObject({ total: 1 })
    const named = await start({ kind: 'replay-dead-letters', filter: { ...filter, code: 'SEND_OUTCOME_UNKNOWN' } })
    expect(named).toMatchObject({ total: 1 })
    await carryOut()
    expect(await replaysOf(gateway.db.pool, companyId)).toMatchObject({ events: 2, dead: 0 })
  })

  test('by several workers at once: each e-mail once, and the progress is right', async () => {
    const { companyId } = await gateway.company()
    await dead(companyId, 900)
    const { actionId } = await start({ kind: 'replay-dead-letters', filter: { company: companyId } })
    await Promise.all([carryOut(), carryOut(), carryOut()])
    await carryOut()
    expect(await show(actionId)).toMatchObject({ state: 'done', total: 900, done: 900, failed: 0 })
    expect(await replaysOf(gateway.db.pool, companyId)).toMatchObject({ events: 900, twice: 0, dead: 0 })
    expect(failures).toEqual([])
  })

  test('stopped in the middle keeps what it has done and does no more', async () => {
    const { companyId } = await gateway.company()
    await dead(companyId, 500)
    const { actionId } = await start({ kind: 'replay-dead-letters', filter: { company: companyId } })
    await carryOut(0)
    const running = await show(actionId)
    expect(running).toMatchObject({ state: 'running', done: 200 })
    const stopped = await admin('POST', `/${actionId}/stop`, {})
    expect(stopped).toMatchObject({ status: 200, body: { state: 'stopped', done: running.done } })
    await carryOut()
    expect(await show(actionId)).toEqual(stopped.body)
    expect(await replaysOf(gateway.db.pool, companyId)).toMatchObject({
      events: running.done,
      dead: 500 - running.done,
    })
    expect((await auditOf(actionId)).at(-1)).toMatchObject({ action: 'STOPPED', after: { done: running.done } })
    expect(await admin('POST', `/${actionId}/stop`, {})).toMatchObject({ status: 409, body: { code: 'ALREADY_ENDED' } })
  })

  test('an e-mail that somebody holds is replayed when it is free', async () => {
    const { companyId } = await gateway.company()
    const [held] = await dead(companyId, 3)
    const { actionId } = await start({ kind: 'replay-dead-letters', filter: { company: companyId } })
    const client = await gateway.db.pool.connect()
    await client.query('begin')
    await client.query('select from email_outbox where outbox_id = $1 for update', [held])
    await carryOut()
    expect(await show(actionId)).toMatchObject({ state: 'running', total: 3, done: 2, failed: 0 })
    await client.query('rollback')
    client.release()
    await carryOut()
    expect(await show(actionId)).toMatchObject({ state: 'done', done: 3, failed: 0 })
  })

  test('counts as gone what was replayed by somebody else meanwhile', async () => {
    const { companyId } = await gateway.company()
    const [first] = await dead(companyId, 2)
    const { actionId } = await start({ kind: 'replay-dead-letters', filter: { company: companyId } })
    await gateway.db.pool.query('delete from dead_letters where outbox_id = $1', [first])
    await carryOut()
    expect(await show(actionId)).toMatchObject({ state: 'done', total: 2, done: 1, failed: 1, counts: { notFound: 1 } })
  })
})

describe('chosen e-mails', () => {
  test('are replayed by their ids, and those that are none are counted', async () => {
    const { companyId } = await gateway.company()
    const [one, two] = await dead(companyId, 3)
    const outboxIds = [one!, two!.toUpperCase(), two!, NOBODYS]
    const { actionId, total } = await start({ kind: 'replay-dead-letters', outboxIds })
    expect(total).toBe(3)
    await carryOut()
    expect(await show(actionId)).toMatchObject({ state: 'done', done: 2, failed: 1, selection: { chosen: 3 } })
    expect(await replaysOf(gateway.db.pool, companyId)).toMatchObject({ events: 2, dead: 1 })
  })

  test('are purged: the e-mail keeps its status and can no longer be replayed', async () => {
    const { companyId } = await gateway.company()
    const [one, two] = await dead(companyId, 3)
    const { actionId } = await start({ kind: 'purge-dead-letters', outboxIds: [one, two] })
    await carryOut()
    expect(await show(actionId)).toMatchObject({ state: 'done', done: 2, counts: { purged: 2 } })
    expect(await replaysOf(gateway.db.pool, companyId)).toMatchObject({ pending: 0, dead: 1 })
    const all = await start({ kind: 'purge-dead-letters', filter: { company: companyId } })
    await carryOut()
    expect(await show(all.actionId)).toMatchObject({ state: 'done', total: 1, done: 1 })
  })
})

describe('an import of suppressions', () => {
  test('writes the good lines, names the bad ones, and audits each entry with the reason', async () => {
    const { companyId, name } = await gateway.company()
    const good = Array.from({ length: 250 }, (_, n) => `r${n}@import.example,MANUAL,,`)
    const csv = ['email,reason,expires_at,company', ...good, 'nobody,MANUAL,,', `a@import.example,COMPLAINT,,${name}`]
    csv.push('b@import.example,BORED,,', 'c@import.example,MANUAL,,no such company', '', 'd@import.example,MANUAL')
    const action = await start({ kind: 'import-suppressions', csv: csv.join('\r\n') })
    expect(action).toMatchObject({ total: 255, done: 0, failed: 4, counts: { refused: 4 } })
    expect(action.problems.map(({ line, rule }) => [line, rule])).toEqual([
      [252, 'CSV_ADDRESS'],
      [254, 'CSV_REASON'],
      [255, 'CSV_COMPANY'],
      [257, 'CSV_FIELDS'],
    ])
    expect(JSON.stringify(action.problems)).not.toContain('import.example')
    await carryOut()
    expect(await show(action.actionId)).toMatchObject({ state: 'done', done: 251, failed: 4, counts: { added: 251 } })
    const entries = await rows(
      gateway,
      `select s.company_id, l.performed_by, l.metadata ->> 'justification' as why from suppression_list s
       join suppression_audit_log l using (email_hash) where s.email_hash = any($1) order by s.reason`,
      [[hashEmail('r7@import.example'), hashEmail('a@import.example')]],
    )
    expect(entries).toEqual([
      { company_id: companyId, performed_by: 'ana', why: WHY },
      { company_id: null, performed_by: 'ana', why: WHY },
    ])
    expect(await rows(gateway, 'select from job_items')).toEqual([])
  })

  test('of a text that is no such file is refused with what is wrong with it', async () => {
    const answer = await admin('POST', '', { kind: 'import-suppressions', reason: WHY, csv: 'name\nMaria' })
    expect(answer).toMatchObject({
      status: 422,
      body: { errors: [{ path: 'csv', code: 'INVALID_FORMAT', rule: 'CSV_UNKNOWN_COLUMN', name: 'name' }] },
    })
    expect(answer.body.errors[0].message).toContain('its header names a column "name"')
  })
})

test('a batch that fails again and again ends the action with its error, without what it was about', async () => {
  const { companyId } = await gateway.company()
  await dead(companyId, 1)
  const { actionId } = await start({ kind: 'replay-dead-letters', filter: { company: companyId } })
  await gateway.db.pool.query(`update jobs set position = '{"after":{"movedAt":"maria@example.com","outboxId":"1"}}'
    where job_id = '${actionId}'`)
  await carryOut()
  expect(await show(actionId)).toMatchObject({ state: 'waiting', lastError: expect.stringMatching(/invalid input/) })
  for (let again = 2; again <= 5; again++) await carryOut()
  const failed = await show(actionId)
  expect(failed).toMatchObject({ state: 'failed', done: 0 })
  expect(failed.lastError).not.toContain('maria@')
  expect((await auditOf(actionId)).at(-1)).toMatchObject({ action: 'FAILED' })
})

test.each<[string, object, string]>([
  ['without a reason', { kind: 'replay-dead-letters', reason: ' ', filter: {} }, 'reason'],
  ['without a selection', { kind: 'replay-dead-letters' }, ''],
  ['with ids and a filter', { kind: 'purge-dead-letters', filter: {}, outboxIds: [NOBODYS] }, ''],
  ['with something that is no id', { kind: 'replay-dead-letters', outboxIds: ['all'] }, 'outboxIds[0]'],
  ['of a company that does not exist', { kind: 'replay-dead-letters', filter: { company: NOBODYS } }, 'company'],
  ['of another kind', { kind: 'delete-everything' }, 'kind'],
])('an action %s is refused', async (_what, body, path) => {
  const answer = await admin('POST', '', { reason: WHY, ...body })
  expect(answer.status).toBe(422)
  expect(answer.body.errors[0].path).toBe(path)
})

test('a replay that a command has asked for is no bulk action', async () => {
  const { companyId } = await gateway.company()
  await dead(companyId, 1)
  const request = { use: 'replay', requestedBy: 'command line', reason: null, isBulkAction: false } as const
  const jobId = await submitWalk(gateway.db.pool, { ...EVERY_DEAD_LETTER, companyId }, request)
  expect((await admin('GET', '?open=true')).body.data).toEqual([])
  expect((await admin('GET', `/${jobId}`)).status).toBe(404)
  expect((await admin('POST', `/${jobId}/stop`, {})).status).toBe(404)
  await carryOut()
  expect(await replaysOf(gateway.db.pool, companyId)).toMatchObject({ events: 1, dead: 0 })
  expect(await auditOf(jobId)).toEqual([])
})

test('the list shows the newest first, and those that have not ended', async () => {
  const { companyId } = await gateway.company()
  await carryOut()
  const { actionId } = await start({ kind: 'purge-dead-letters', filter: { company: companyId } })
  const open = await admin('GET', '?open=true')
  expect(open.body.data.map((one: BulkAction) => one.actionId)).toEqual([actionId])
  const all = await admin('GET', '?kind=purge-dead-letters&limit=2')
  expect(all.body.data).toHaveLength(2)
  expect(all.body.data[0].actionId).toBe(actionId)
  await carryOut()
  expect((await admin('GET', '?open=true')).body.data).toEqual([])
  expect((await admin('GET', `/${NOBODYS}`)).status).toBe(404)
})
