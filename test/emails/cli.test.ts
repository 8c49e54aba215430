import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cliOn, type TestCli } from '../support/cli.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../support/gateway.ts'
import { cleanUp, runCommand } from '../support/process.ts'
import { type Receiver, register, startReceiver, withStatus } from '../support/webhook-receiver.ts'

type Listed = { outboxId: string; companyName: string; status: string; lastError: { code: string } | null }
type Page = { data: Listed[]; cursor: string | null }

let gateway: TestGateway
let cli: TestCli
let acme: TestCompany
let other: TestCompany

beforeAll(async () => {
  gateway = await startTestGateway({ env: { WEBHOOK_ALLOW_PRIVATE: 'true' } })
  cli = await cliOn(gateway.databaseUrl)
  acme = await gateway.company({ name: 'acme' })
  other = await gateway.company({ name: 'other' })
})
afterAll(async () => {
  await gateway.stop()
  await cleanUp()
})

async function send(of: { apiKey: string }, change: Record<string, unknown> = {}): Promise<string> {
  const body = { to: 'maria@example.com', subject: 'Hello', text: 'It works.', ...change }
  const { status, body: answer } = await gateway.call(of, 'POST', '/v1/email/send', body)
  expect(status).toBe(202)
  await until(
    () => gateway.call(of, 'GET', `/v1/email/${answer.outboxId}`),
    ({ body: email }) => !['PENDING', 'PROCESSING'].includes(email.status),
  )
  return answer.outboxId
}

const idsOf = ({ data }: Page) => data.map(one => one.outboxId)

test('email list shows the newest first, by company, status, recipient, tag and time, page by page', async () => {
  const first = await send(acme, { tags: ['boleto'] })
  const refused = await send(acme, { to: 'reject@simulator.test', subject: 'Refused' })
  const others = await send(other, { cc: ['ana@example.com'] })
  const key = await gateway.key(acme.companyId, { mode: 'test' })
  const tried = await send(key)
  const list = (...args: string[]) => cli.json<Page>('email', 'list', ...args)

  const all = await list()
  expect(all).toMatchObject({ cursor: null })
  expect(all.data.map(one => [one.outboxId, one.companyName, one.status])).toEqual([
    [others, 'other', 'SENT'],
    [refused, 'acme', 'REJECTED'],
    [first, 'acme', 'SENT'],
  ])
  const expected: [string[], string[]][] = [
    [
      ['--company', 'acme'],
      [refused, first],
    ],
    [['--company', other.companyId, '--since', '1h'], [others]],
    [['--status', 'rejected'], [refused]],
    [['--recipient', 'Ana@Example.com'], [others]],
    [['--tag', 'boleto'], [first]],
    [['--until', '1h'], []],
    [['--test'], [tried]],
  ]
  const found = await Promise.all(expected.map(async ([args]) => [args, idsOf(await list(...args))]))
  expect(found).toEqual(expected)

  const page = await list('--limit', '2')
  expect([idsOf(page), page.cursor]).toEqual([[others, refused], refused])
  expect(idsOf(await list('--limit', '2', '--after', page.cursor!))).toEqual([first])
  const lines = (await cli.lines('email', 'list', '--limit', '2')).trimEnd().split('\n')
  expect(lines[1]).toMatch(
    new RegExp(`^\\S+Z  ${refused}  acme  REJECTED  SES_MESSAGE_REJECTED  reject@simulator.test  Refused$`),
  )
  expect(lines[2]).toBe(`--after ${refused}`)
  expect(await cli.lines('email', 'list', '--tag', 'nothing')).toBe('No e-mails.\n')
})

test.each([
  [['--status', 'SEND'], 'did you mean SENT?'],
  [['--recipient', 'nonsense'], '--recipient'],
  [['--after', 'nonsense'], '--after'],
  [['--limit', '0'], '--limit'],
  [['01890000-0000-7000-8000-000000000000'], 'unexpected argument'],
])('email list %j is called wrongly', async (args, part) => {
  expect(await cli.fails(2, 'email', 'list', ...args)).toContain(part)
})

test('email show takes no option of email list', async () => {
  const id = '01890000-0000-7000-8000-000000000000'
  expect(await cli.fails(2, 'email', 'show', id, '--company', 'acme')).toContain('--company cannot be used here')
})

describe('webhook', () => {
  let receiver: Receiver
  beforeAll(async () => {
    receiver = await startReceiver()
  })
  afterAll(() => receiver.close())

  test('list shows the endpoints of all companies, or of one, by name', async () => {
    const mine = await register(gateway, acme, `${receiver.url}/mine`, { eventTypes: ['email.sent'] })
    const theirs = await register(gateway, other, `${receiver.url}/theirs`)
    await gateway.call(other, 'PATCH', `/v1/webhooks/${theirs.id}`, { enabled: false })
    const { data: all } = await cli.json<{ data: Record<string, unknown>[] }>('webhook', 'list')
    expect(all).toMatchObject([
      { id: mine.id, companyName: 'acme', enabled: true, waiting: 0, test: false },
      { id: theirs.id, companyName: 'other', enabled: false },
    ])
    expect(JSON.stringify(all)).not.toContain('whsec')
    const lines = await cli.lines('webhook', 'list', '--company', 'other')
    expect(lines).toMatch(new RegExp(`^${theirs.id}  other  \\S+/theirs  DISABLED \\(MANUAL\\) since .*\\n$`))
    expect(await cli.fails(1, 'webhook', 'test', theirs.id)).toContain('is disabled (MANUAL)')
  })

  test('test has the gateway send an event, and prints what the endpoint answered', async () => {
    const good = await register(gateway, acme, `${receiver.url}/good`)
    expect(await cli.lines('webhook', 'test', good.id)).toMatch(/\/good answered 204 after \d+ ms\.\n$/)
    const [got] = await receiver.got('/good', 1)
    expect(got!.body).toMatchObject({ type: 'webhook.test', data: { webhookId: good.id } })
    receiver.answer('/bad', withStatus(500))
    const bad = await register(gateway, acme, `${receiver.url}/bad`)
    const { code, stdout } = await runCommand(['webhook', 'test', bad.id, '--json'], { env: cli.env })
    expect({ code, body: JSON.parse(stdout) }).toEqual({
      code: 1,
      body: { error: { code: 'WEBHOOK_NOT_ACCEPTED', message: expect.stringContaining('/bad did not accept it: ') } },
    })
  })

  test('test says that a refused event is retried, and that 410 ends it and disables the endpoint', async () => {
    receiver.answer('/busy', withStatus(503))
    receiver.answer('/gone', withStatus(410))
    const busy = await register(gateway, acme, `${receiver.url}/busy`)
    expect(await cli.fails(1, 'webhook', 'test', busy.id)).toMatch(
      /\/busy did not accept it: .* after \d+ ms\. It is retried like every delivery\.\n$/,
    )
    const gone = await register(gateway, acme, `${receiver.url}/gone`)
    const said = await cli.fails(1, 'webhook', 'test', gone.id)
    expect(said).toMatch(/\/gone did not accept it: .* after \d+ ms\. It is not retried: 410 means gone, so the/)
    expect(said).toContain('endpoint was disabled; its company has to enable it again.')
  })

  test('test says since when an endpoint fails, with what, and how many deliveries wait before the event', async () => {
    receiver.answer('/stuck', withStatus(503))
    const { id } = await register(gateway, acme, `${receiver.url}/stuck`)
    await cli.fails(1, 'webhook', 'test', id)
    const pause = `update webhook_state set resume_at = now() + interval '10 minutes' where endpoint_id = $1`
    await gateway.db.pool.query(pause, [id])
    for (let sent = 0; sent < 2; sent++) await gateway.call(acme, 'POST', `/v1/webhooks/${id}/test`)
    const said = await cli.fails(1, 'webhook', 'test', id)
    expect(said).toMatch(/^It waits, and was not tried yet\. \S+\/stuck has been failing since \S+Z \(\D*503\D*\)\. /)
    expect(said).toMatch(/ It is tried again in (600|5\d\d) s\. [2-3] deliveries wait before this one\.\n$/)
    expect(await codeOfTest(id)).toBe('WEBHOOK_WAITING')
  })

  test('test sends nothing, and says so at once, when no process delivers webhooks', async () => {
    const api = await startTestGateway({ role: 'api', env: { WEBHOOK_ALLOW_PRIVATE: 'true' } })
    try {
      const alone = await cliOn(api.databaseUrl)
      const { id } = await register(api, await api.company(), `${receiver.url}/alone`)
      expect(await alone.fails(1, 'webhook', 'test', id)).toMatch(
        /^Nothing was sent: no process that delivers webhooks/,
      )
      expect(await alone.json('webhook', 'list')).toMatchObject({ data: [{ id, waiting: 0 }] })
    } finally {
      await api.stop()
    }
  })

  async function codeOfTest(id: string): Promise<string> {
    const { stdout } = await runCommand(['webhook', 'test', id, '--json'], { env: cli.env })
    return JSON.parse(stdout).error.code
  }

  test('test of an endpoint that does not exist says so', async () => {
    expect(await cli.fails(1, 'webhook', 'test', '01890000-0000-7000-8000-000000000000')).toContain('webhook list')
    expect(await cli.fails(2, 'webhook', 'test', 'nonsense')).toContain('ENDPOINT_ID must be')
  })
})
