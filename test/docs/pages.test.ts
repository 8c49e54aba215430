import { readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../support/gateway.ts'
import { rows } from '../support/mail.ts'
import { cleanUp, makeDataDir, ROOT, runCommand, runShell } from '../support/process.ts'
import { SHARED_SECRETS } from '../support/secrets.ts'
import { shellWords } from '../support/shell-words.ts'

/** What each shell block of a page prints, in order. */
const PRINTED: Record<string, RegExp[]> = {
  'quick-start': [
    /^$/,
    /"summary".*DELIVERED {2}Hello[\s\S]*QUEUED[\s\S]*DELIVERED/,
    /"status":"QUEUED"/,
    /is suppressed/,
    /Queued [0-9a-f-]{36}/,
    /REJECTED/,
    /example\.com/,
  ],
  api: [
    /"status":"QUEUED"/,
    /"outboxId":"([0-9a-f-]{36})".*"outboxId":"\1"/,
    /"data":\[\{.*\},\{.*\}\]/,
    /"status":"PENDING".*"status":"CANCELLED"/,
    /"status":"QUEUED"/,
    /"status":"CANCELLED".*"events":.*CANCELLED.*"data":\[\{.*"tags":\["order"\]/s,
  ],
  admin: [/#token=/, /"name":"demo"/, /vera.*support/, /maria@example\.com/, /"action":"/],
  privacy: [/Exported to [\s\S]*"emails":/, /Receipt[\s\S]*"receiptId"/],
  migrating: [/3 lines: 3 added/],
  sql: [/password/i, /shop/, /"[0-9a-f-]{36}"/],
  suppression: [/is not suppressed[\s\S]*2 lines: [\s\S]*Exported/, /^\{"suppressed":true.*\{"removed":true/s],
  templates: [/Queued [0-9a-f-]{36}[\s\S]*"status":"QUEUED"/, /order_sent[\s\S]*published/],
  webhooks: [/"secret":"whsec_/],
}
/** Blocks that install, start, set a variable, or open a shell. */
const NOT_HERE = /^(npm install|export GATEWAY_URL|psql)/
/** Pages whose commands are tried by other tests, or need other programs; that the commands exist is checked in references.test.ts. */
const ELSEWHERE = [
  ...['installing', 'upgrade', 'sending', 'operating', 'provider-events', 'ses', 'metrics', 'runbook', 'scale'],
  ...['logs', 'resend', 'smtp', 'companies', 'dead-letters', 'providers'],
]

/** `jq` for those who have none, and a curl that fails when the gateway refuses. */
const TOOLS = `set -e
jq() { node -p "JSON.parse(require('fs').readFileSync(0))$2"; }
curl() { command curl --fail-with-body "$@"; }`

const blocksOf = (page: string, language: string) => {
  const text = readFileSync(join(ROOT, `docs/${page}.md`), 'utf8')
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(match => match[1]!)
}

let gateway: TestGateway
let company: TestCompany
let folder: string
let env: Record<string, string>

beforeAll(async () => {
  gateway = await startTestGateway()
  company = await gateway.company({ name: 'demo' })
  for (const name of ['acme', 'shop']) await gateway.company({ name })
  folder = await makeDataDir()
  env = { GATEWAY_URL: gateway.url, API_KEY: company.apiKey, DATABASE_URL: gateway.databaseUrl, ...SHARED_SECRETS }
  const { stdout } = await runCommand(['admin', 'add', 'admin', '--json'], { env })
  env.ADMIN_PASSWORD = JSON.parse(stdout).password
  await writeFile(
    join(folder, 'old-system.csv'),
    'email,reason\na@example.com,HARD_BOUNCE\nb@example.com,COMPLAINT\nc@example.com,MANUAL\n',
  )
  const maria = { to: 'maria@example.com', subject: 'Hello', text: 'Hello', recipient: { cpfCnpj: '529.982.247-25' } }
  expect(await gateway.call(company, 'POST', '/v1/email/send', maria)).toMatchObject({ status: 202 })
})
afterAll(async () => {
  await gateway?.stop()
  await cleanUp()
})

test('every page with commands is tried', () => {
  const names = readdirSync(join(ROOT, 'docs')).flatMap(name => /^(.*)\.md$/.exec(name)?.[1] ?? [])
  const untried = names.filter(name => !Object.hasOwn(PRINTED, name) && !ELSEWHERE.includes(name))
  expect(untried.filter(name => blocksOf(name, '(?:sh|bash)').length > 0)).toEqual([])
})

test.each(Object.keys(PRINTED))('the commands of docs/%s.md do what the page says', async page => {
  const blocks = blocksOf(page, 'sh').filter(block => !NOT_HERE.test(block))
  expect(blocks).toHaveLength(PRINTED[page]!.length)
  for (const [index, block] of blocks.entries()) {
    let printed = ''
    for (const command of block.split(/^(?=npx )|(?<=^npx .*\n)/m)) {
      const { code, stdout, stderr } = await run(command)
      expect({ command, code, stderr }).toEqual({ command, code: 0, stderr: '' })
      printed += stdout
    }
    expect(printed, block).toMatch(PRINTED[page]![index]!)
    await until(unfinished, list => list.length === 0)
  }
})

/** Variables that one command sets are there for the next. */
async function run(command: string) {
  if (command.startsWith('npx ')) {
    const [, , ...words] = shellWords(command.replaceAll(/\$(\w+)/g, (_, name) => env[name]!))
    return runCommand(words, { env, cwd: folder })
  }
  const variable = join(folder, 'outbox-id')
  const ended = await runShell(`${TOOLS}\n${command}\nprintf %s "$OUTBOX_ID" > ${variable}`, { env, cwd: folder })
  env.OUTBOX_ID = readFileSync(variable, 'utf8')
  return ended
}

/** What is due, and what capture will still report on. */
const unfinished = () =>
  rows(
    gateway,
    `select o.status, r.address from email_outbox o join email_recipients r using (outbox_id)
     where o.status = 'PROCESSING' or (o.status = 'PENDING' and coalesce(o.scheduled_at, now()) <= now())
       or (o.status = 'SENT' and r.address ~ '^(delivered|bounce)@simulator')`,
  )

describe('the code of docs/migrating.md', () => {
  const order = { id: 'order-1', email: 'ana@example.com', name: 'Ana' }
  const run = async (code: string) => {
    const { code: exitCode, stderr } = await runShell(
      `node --input-type=module - <<'END'\nconst order = ${JSON.stringify(order)}\n${code}\nEND`,
      { env },
    )
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
  }
  const emails = () =>
    rows(
      gateway,
      `select o.external_id from email_outbox o join email_recipients r using (outbox_id) where r.address = 'ana@example.com'`,
    )

  test('sends over HTTP', async () => {
    await run(blocksOf('migrating', 'js after-http')[0]!)
    expect(await emails()).toEqual([{ external_id: order.id }])
  })

  test('sends in a transaction of its own', async () => {
    await rows(gateway, 'create table orders (id text, email text)')
    await rows(gateway, `update companies set is_default = true where name = 'shop'`)
    await run(
      `import pg from 'pg'\nconst client = new pg.Client({ connectionString: process.env.DATABASE_URL })\nawait client.connect()\n${blocksOf('migrating', 'js after-sql')[0]}\nawait client.end()`,
    )
    expect(await rows(gateway, 'select * from orders')).toHaveLength(1)
    expect(await emails()).toHaveLength(2)
  })
})

test('the statement of docs/upgrade.md lists the migrations', async () => {
  expect(await rows(gateway, blocksOf('upgrade', 'sql')[0]!)).toContainEqual(
    expect.objectContaining({ version: 1, name: '0001_companies.sql' }),
  )
})
