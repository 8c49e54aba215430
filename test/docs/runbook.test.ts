import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { rollUpStatistics } from '../../src/companies/statistics.ts'
import { readInput } from '../../src/console/arguments.ts'
import { COMMANDS } from '../../src/main/commands.ts'
import { type FakeSes, startFakeSes } from '../support/fake-ses.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../support/gateway.ts'
import { cleanUp, makeDataDir, ROOT } from '../support/process.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import { SHARED_SECRETS } from '../support/secrets.ts'

const LOST = { to: 'lost@example.com' }
const LETTER = { to: 'maria@example.com', subject: 'Hello', text: 'It works.' }

let redis: RedisServer
let ses: FakeSes
let gateway: TestGateway
let company: TestCompany
let sections: Map<string, Block[]>
const environment = { ...process.env }

beforeAll(async () => {
  sections = sectionsOf(await readFile(join(ROOT, 'docs/runbook.md'), 'utf8'))
  redis = await startRedis()
  ses = await startFakeSes()
  const settings = {
    REDIS_URL: redis.url,
    EMAIL_PROVIDER: 'ses',
    EMAIL_FROM: 'shop@example.com',
    AWS_REGION: 'us-east-1',
    AWS_ENDPOINT_URL_SESV2: ses.url,
    SEND_RATE_PER_SECOND: '1000',
    UNKNOWN_GRACE_SECONDS: '0',
  }
  // Where the SDK looks; the fake checks no signature.
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' })
  gateway = await startTestGateway({ env: settings })
  company = await gateway.company({ name: 'acme' })
  // Each command that is called in this process makes a log, which writes its last lines when the process exits.
  process.setMaxListeners(50)
  Object.assign(process.env, SHARED_SECRETS, settings, { DATABASE_URL: gateway.databaseUrl })
})
afterAll(async () => {
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name]
  Object.assign(process.env, environment)
  await gateway.stop()
  await ses.close()
  await redis.close()
  await cleanUp()
})

const send = async (change: object = {}, headers: Record<string, string> = {}) =>
  (await gateway.call(company, 'POST', '/v1/email/send', { ...LETTER, ...change }, headers)).body.outboxId as string
/** By SQL, where the template is rendered by the worker. */
async function enqueue(type: string): Promise<string> {
  const call = `select set_config('email_gateway.company', 'acme', true), enqueue_email(null, $1, 'ana@example.com', '{}') as id`
  return (await gateway.db.pool.query(call, [type])).rows[0].id
}
const statusOf = async (outboxId: string) => (await gateway.call(company, 'GET', `/v1/email/${outboxId}`)).body.status
const isNow = (outboxId: string, status: string) =>
  until(
    () => statusOf(outboxId),
    now => now === status,
    20_000,
  )

test('dead letters are growing fast: the cause is found, mended, and they are sent', async () => {
  const id = await enqueue('order_sent')
  await isNow(id, 'FAILED')
  const [byCode, byCompany, example, replay] = blocksOf('Dead letters are growing fast')
  expect(await run(byCode!)).toContain('TEMPLATE_NOT_FOUND')
  expect(await run(byCompany!)).toContain('acme')
  const CODE = 'TEMPLATE_NOT_FOUND'
  expect(await run(example!, { CODE, OUTBOX_ID: id })).toMatch(
    new RegExp(`${id}[\\s\\S]*attempt 1[\\s\\S]*dlq replay ${id}`),
  )
  await publishTemplate('order_sent')
  expect(await run(replay!, { CODE })).toMatch(/Would replay 1 entry[\s\S]*Replayed 1 entry/)
  await isNow(id, 'SENT')
})

test('Redis is near its memory limit: it is seen, and a higher limit ends it', async () => {
  await redis.client().config('SET', 'maxmemory', '1mb')
  const waiting = await send()
  await until(
    async () => (await redis.client().info('errorstats')).includes('errorstat_OOM'),
    refused => refused,
  )
  expect(await statusOf(waiting)).toBe('PENDING')
  const [look, mend] = blocksOf('Redis is near its memory limit')
  expect(await run(look!)).toMatch(/maxmemory:1048576[\s\S]*errorstat_OOM:count=[\s\S]*\n0\n0\n/)
  await run(mend!)
  await isNow(waiting, 'SENT')
})

test('one company takes the whole queue: it is found, limited, stopped and let go again', async () => {
  await gateway.db.pool.query(`update companies set paused_at = now(), pause_reason = 'A test' where name = 'acme'`)
  const waiting = await send()
  const [who, served, hanging, limit, letGo] = blocksOf('One company takes the whole queue')
  expect(await run(who!)).toContain('acme')
  expect(await run(served!)).toContain('acme')
  await run(hanging!)
  expect(await run(limit!, { COMPANY: 'acme' })).toMatch(/rate 10\/s[\s\S]*PAUSED/)
  expect(await statusOf(waiting)).toBe('PENDING')
  expect(await run(letGo!, { COMPANY: 'acme' })).toMatch(/rate unlimited(?![\s\S]*PAUSED)/)
  await isNow(waiting, 'SENT')
})

test('e-mails are not sent: the parked provider is found, and tried at once', async () => {
  const waiting = await parkUntilOneWaits()
  const [workers, housekeeping, explain, probe, bringForward] = blocksOf('E-mails are not sent')
  expect(await run(workers!)).toContain('Daily quota')
  await run(housekeeping!)
  expect(await run(explain!, { OUTBOX_ID: waiting })).toMatch(/parked|waits/i)
  await run(probe!)
  await run(bringForward!)
  await isNow(waiting, 'SENT')
})

/** The workers read the state of the providers every second. What is sent before that goes out, and its success ends the parking. */
async function parkUntilOneWaits(): Promise<string> {
  let sent = ''
  await until(
    async () => {
      await gateway.db.pool.query(
        `update providers set state = 'open', opened_at = now(), reason_code = 'QUOTA', reason = 'Daily quota', probe_at = now() + interval '1 hour'`,
      )
      await sleep(1_100)
      sent = await send()
      await sleep(300)
      return statusOf(sent)
    },
    status => status === 'PENDING',
    20_000,
  )
  return sent
}

test('many e-mails fail: the provider and the template are named, mended, and what failed is sent', async () => {
  const unverified = 'Email address is not verified.'
  ses.control({ default: { kind: 'error', status: 400, name: 'MessageRejected', message: unverified } })
  const refused = await send()
  await isNow(refused, 'REJECTED')
  await publishTemplate('order_sent', '<p>{{ tracking_code }}</p>')
  const wrong = await enqueue('order_sent')
  await isNow(wrong, 'FAILED')
  await countEvents()
  const [errors, templates, stats, publish, replay] = blocksOf('Many e-mails fail')
  expect(await run(errors!)).toMatch(/SES_MESSAGE_REJECTED.*ses.*not verified/)
  expect(await run(errors!)).toContain('TEMPLATE_VARIABLE_MISSING')
  expect(await run(templates!)).toContain('order_sent')
  expect(await run(stats!)).toContain('failed')
  ses.control({ reset: true })
  const printed = await run(publish!, { TYPE: 'order_sent', COMPANY: 'acme', VERSION: '1' })
  expect(printed).toMatch(/version 2 \(published[\s\S]*tracking_code[\s\S]*published as version 1/)
  for (const CODE of ['SES_MESSAGE_REJECTED', 'TEMPLATE_VARIABLE_MISSING'])
    expect(await run(replay!, { CODE })).toContain('Replayed 1 entry')
  await isNow(refused, 'SENT')
  await isNow(wrong, 'SENT')
})

/** The event log is counted a minute late: these events have happened two minutes ago. */
async function countEvents(): Promise<void> {
  await query(`update statistics_cursor set counted_until = now() - interval '3 minutes'`)
  await query(`update email_events set created_at = created_at - interval '2 minutes'`)
  await rollUpStatistics(gateway.db.pool)
}

test('a recipient got an e-mail twice: it is seen why, and what the page says prevents it', async () => {
  const [list, unknown] = blocksOf('A recipient got an e-mail twice')
  const asked = [await send(), await send()]
  const listed = await run(list!, { OUTBOX_ID: asked[0]! })
  for (const outboxId of asked) expect(listed).toContain(outboxId)
  const key = { 'idempotency-key': 'order-17' }
  expect(await send({}, key)).toBe(await send({}, key))

  // SES takes both, and its answers are lost.
  ses.control({
    rules: [{ match: { localPart: 'lost' }, next: 3, answer: { kind: 'reset', when: 'after', accepted: true } }],
  })
  const [held, heldToo] = [await send({ ...LOST, onUnknown: 'hold' }), await send({ ...LOST, onUnknown: 'hold' })]
  const resent = await send(LOST)
  await isNow(resent, 'SENT')
  const takenBySes = (outboxId: string) => ses.accepted.filter(one => one.outboxId === outboxId).length
  expect(takenBySes(resent)).toBe(2)
  const found = await run(unknown!)
  expect(found).toContain(`{"outbox_id":"${resent}","attempts":"2",`)
  expect(found).not.toContain(held)
  await until(
    () => query(`select from unknown_sends where resolve_at > now() + interval '5 seconds'`),
    kept => kept === '[[{},{}]]',
  )
  expect([await statusOf(held), takenBySes(held)]).toEqual(['UNKNOWN', 1])

  const [open, arrived, notArrived] = blocksOf('UnknownSends')
  expect(await run(open!)).toContain(held)
  await run(arrived!, { OUTBOX_ID: held, MESSAGE_ID: ses.accepted.find(one => one.outboxId === held)!.messageId })
  await run(notArrived!, { OUTBOX_ID: heldToo })
  await isNow(heldToo, 'SENT')
  expect([await statusOf(held), takenBySes(held), takenBySes(heldToo)]).toEqual(['SENT', 1, 2])
  expect(await run(open!)).toBe('[[]]')
})

test('an e-mail that somebody has deleted: the ledger names it, and balances when it is acknowledged', async () => {
  const lost = await send()
  await isNow(lost, 'SENT')
  await query(`delete from email_outbox where outbox_id = '${lost}'`)
  const [ledger, acknowledge] = blocksOf('LedgerImbalance')
  expect(
    await until(
      () => run(ledger!),
      printed => printed.includes(lost),
    ),
  ).toContain('NOT balanced')
  await run(acknowledge!)
  expect(await run(ledger!)).toContain(': balanced, 1 acknowledged')
})

test('every other command of the runbook runs as it is written', async () => {
  const values = { OUTBOX_ID: await send(), COMPANY: 'acme', CODE: 'TEMPLATE_NOT_FOUND' }
  const all = [...sections.values()].flat()
  const left = all.filter(block => !block.wasRun)
  expect([all.length > 30, left.length > 5]).toEqual([true, true])
  for (const block of left) await run(block, values)
})

type Block = { language: 'sh' | 'sql'; text: string; wasRun?: boolean }

function sectionsOf(markdown: string): Map<string, Block[]> {
  const parts = markdown.split(/^##+ /m).map(part => {
    const blocks = [...part.matchAll(/^```(sh|sql)\n([\s\S]*?)^```$/gm)]
    return [part.split('\n')[0]!, blocks.map(([, language, text]) => ({ language, text: text! }) as Block)] as const
  })
  return new Map(parts)
}

const blocksOf = (title: string) => sections.get(title)!

/** What the block prints. */
async function run(block: Block, values: Record<string, string> = {}): Promise<string> {
  block.wasRun = true
  if (block.language === 'sql') return query(block.text)
  let printed = ''
  for (const line of block.text.trim().split('\n')) printed += await runLine(line, { REDIS_URL: redis.url, ...values })
  return printed
}

async function query(sql: string): Promise<string> {
  const client = new pg.Client({ connectionString: gateway.databaseUrl })
  await client.connect()
  try {
    const results = [await client.query(sql)].flat()
    return JSON.stringify(results.map(result => result.rows))
  } finally {
    await client.end()
  }
}

/** The commands of the gateway are called in this process: a process for each would take most of the time. */
async function runLine(line: string, values: Record<string, string>): Promise<string> {
  const [program, ...words] = line
    .replace(/ \|\| true$/, '')
    .match(/'[^']*'|\S+/g)!
    .map(word => word.replace(/^'|'$/g, '').replace(/^\$(\w+)$/, (_, name) => values[name]!))
  if (program === 'redis-cli') return (await promisify(execFile)(program, words)).stdout
  expect([program, words[0]]).toEqual(['npx', 'email-gateway'])
  const command = await COMMANDS[words[1]!]!.load()
  const answer = await command.run(readInput(words.slice(2), command))
  return `${answer!.lines.join('\n')}\n`
}

async function publishTemplate(type: string, html = '<p>It is on its way.</p>'): Promise<void> {
  const folder = await makeDataDir()
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, `${type}.html`), html)
  await runLine(
    `npx email-gateway template push ${join(folder, `${type}.html`)} --company acme --subject Sent --publish`,
    {},
  )
}
