import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hashPassword, putAdministrator } from '../../src/admins/administrators.ts'
import { writeAudit } from '../../src/audit/audit.ts'
import { hashEmail } from '../../src/platform/text/hashing.ts'
import { uuidv7 } from '../../src/platform/text/uuid.ts'
import { putCaptured } from '../../src/providers/capture/inbox.ts'
import { addSuppressions } from '../../src/suppression/list.ts'
import { makeDead } from '../support/dead.ts'
import { startTestGateway, type TestCompany, type TestGateway } from '../support/gateway.ts'
import { sendOk } from '../support/mail.ts'

/** Every address that the data below holds has this local part and this domain. */
const ADDRESS = 'maria.clara@padaria-secreta.example'
const CPF = '529.982.247-25'
const CLEAR = [/maria\.clara/i, /padaria-secreta/i, /529\.?982\.?247-?25/]
const PASSWORD = 'correct horse battery'
const ANYTHING = { example: true }

type Operation = { description?: string; parameters?: { name: string; in: string; required?: boolean }[] }
type Route = { name: string; method: string; path: string; role: string; open: boolean }

let gateway: TestGateway
let company: TestCompany
let routes: Route[]
let known: Record<string, string>

beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api' })
  company = await gateway.company()
  const hash = await hashPassword(PASSWORD)
  for (const role of ['viewer', 'support', 'administrator'] as const)
    await putAdministrator(gateway.db.pool, role, hash, { role })
  known = { companyId: company.companyId, ...(await putData()) }
  const { body } = await gateway.call(null, 'GET', '/openapi.json')
  routes = adminRoutesOf(body.paths)
})
afterAll(() => gateway.stop())

const login = (role: string) => ({ authorization: `Basic ${btoa(`${role}:${PASSWORD}`)}` })

/** One of everything that could show an address. */
async function putData(): Promise<Record<string, string>> {
  const { pool } = gateway.db
  const outboxId = await sendOk(gateway, company, {
    to: `Maria <${ADDRESS}>`,
    cc: [`copy.${ADDRESS}`],
    subject: `Boleto of ${ADDRESS}, CPF ${CPF}`,
    tags: ['boleto'],
    recipient: { externalId: ADDRESS, nome: 'Maria' },
  })
  const [dead] = await makeDead(pool, company.companyId, 1, { reason: `550 <${ADDRESS}> user unknown` })
  await pool.query('update email_recipients set address = $1 where outbox_id = $2 and ordinal = 0', [ADDRESS, dead])
  const messageId = `capture-${uuidv7()}`
  await putCaptured(pool, [
    {
      messageId,
      attemptId: uuidv7(),
      outboxId,
      companyId: company.companyId,
      message: {
        from: `Shop <shop.${ADDRESS}>`,
        to: [`"Maria" <${ADDRESS}>`],
        cc: [],
        bcc: [],
        replyTo: [ADDRESS],
        subject: `For ${ADDRESS}`,
        html: `<a href="mailto:${ADDRESS}">${ADDRESS.replace('@', '&#64;')}</a>`,
        text: `Dear ${ADDRESS}, CPF ${CPF}`,
        headers: { 'X-For': ADDRESS },
        attachments: [{ filename: `${ADDRESS}.pdf`, contentType: 'application/pdf', contentId: null, bytes: 5 }],
      },
    },
  ])
  const emailHash = hashEmail(ADDRESS)
  await addSuppressions(pool, [
    {
      companyId: null,
      emailHash,
      reason: 'HARD_BOUNCE',
      expiresInDays: 90,
      metadata: { diagnosticCode: `smtp; 550 <${ADDRESS}> unknown`, [ADDRESS]: 'as a field' },
      performedBy: ADDRESS.slice(0, 100),
      justification: `Asked by ${ADDRESS}, CPF ${CPF}`,
    },
  ])
  await writeAudit(pool, {
    performedBy: `admin ${ADDRESS}`,
    action: 'COMPANY_CHANGED',
    subjectType: 'company',
    subjectId: company.companyId,
    companyId: company.companyId,
    before: { defaultFrom: ADDRESS },
    after: { defaultFrom: `New <new.${ADDRESS}>` },
    reason: `Asked by ${ADDRESS}`,
  })
  return { outboxId, messageId, emailHash }
}

/** All that the running gateway documents, those of later changes included; a test of the document compares it with the routes. */
function adminRoutesOf(paths: Record<string, Record<string, Operation>>): Route[] {
  return Object.entries(paths)
    .filter(([path]) => path === '/admin' || path.startsWith('/admin/'))
    .flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, { description = '' }]) => ({
        name: `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase(),
        path: path.replaceAll(/\{(\w+)\}/g, (_, name: string) => known[name] ?? '01890000-0000-7000-8000-000000000000'),
        role: /Role: (\w+)\./.exec(description)?.[1] ?? '',
        open: !description.includes('Role:'),
      })),
    )
}

async function ask({ method, path }: Route, headers: Record<string, string>, body?: unknown) {
  const response = await fetch(gateway.url + path, {
    method,
    headers: {
      accept: 'application/json',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, text, code: /"code":"(\w+)"/.exec(text)?.[1] }
}

const isChange = ({ method }: Route) => method !== 'GET'

/** Names what was wrong with which route, all at once. */
async function wrongOnes(chosen: Route[], judge: (route: Route) => Promise<unknown>): Promise<unknown[]> {
  const answers = []
  for (const route of chosen) answers.push({ route: route.name, wrong: await judge(route) })
  return answers.filter(({ wrong }) => wrong)
}

describe('every admin route', () => {
  test('is found, and says which role it needs', () => {
    const names = routes.map(route => route.name)
    expect(names).toEqual(
      expect.arrayContaining(['GET /admin/inbox', 'POST /admin/people/erase', 'GET /admin/sessions']),
    )
    expect(
      routes
        .filter(route => route.open)
        .map(route => route.name)
        .filter(name => !/^POST \/admin\/session(\/link)?$/.test(name)),
    ).toEqual([])
  })

  test('asks for a login', async () => {
    const wrong = await wrongOnes(
      routes.filter(route => !route.open),
      async route => {
        const { status, code } = await ask(route, {}, isChange(route) ? ANYTHING : undefined)
        return (status !== 401 || code !== 'ADMIN_UNAUTHENTICATED') && { status, code }
      },
    )
    expect(wrong).toEqual([])
  })

  test('that changes something is refused to pages of other sites', async () => {
    const wrong = await wrongOnes(routes.filter(isChange), async route => {
      const headers = login('administrator')
      const answers = [
        await ask(route, { ...headers, 'sec-fetch-site': 'cross-site' }, ANYTHING),
        await ask(route, { ...headers, 'sec-fetch-site': 'same-site' }, ANYTHING),
        await ask(route, { ...headers, origin: 'https://evil.example' }, ANYTHING),
        await ask(route, { ...headers, origin: 'null' }, ANYTHING),
      ]
      const form = await ask(route, { ...headers, 'content-type': 'text/plain' }, ANYTHING)
      const refused = answers.every(({ status, code }) => status === 403 && code === 'CROSS_SITE_REQUEST')
      return !(refused && form.status === 415) && [...answers, form].map(({ status, code }) => `${status} ${code}`)
    })
    expect(wrong).toEqual([])
  })

  test('that needs a higher role is refused to those who have a lower one', async () => {
    const lower: Record<string, string[]> = { support: ['viewer'], administrator: ['viewer', 'support'] }
    const wrong = await wrongOnes(
      routes.filter(route => lower[route.role]),
      async route => {
        const body = isChange(route) ? ANYTHING : undefined
        const answers = await Promise.all(lower[route.role]!.map(role => ask(route, login(role), body)))
        return answers.some(({ code }) => code !== 'INSUFFICIENT_ROLE') && answers.map(({ status }) => status)
      },
    )
    expect(wrong).toEqual([])
  })

  test('shows a viewer no address', async () => {
    let shown = 0
    const wrong = await wrongOnes(
      routes.filter(route => !isChange(route)),
      async route => {
        const clear = await ask(route, login('administrator'))
        const { status, text } = await ask(route, login('viewer'))
        if (CLEAR.some(pattern => pattern.test(clear.text))) shown++
        // What the administrator gets, the viewer gets masked, or is told that it is not for viewers.
        const answered = status === clear.status || (status === 403 && route.role !== 'viewer')
        return (!answered || CLEAR.some(pattern => pattern.test(text))) && { status, text: text.slice(0, 300) }
      },
    )
    expect(wrong).toEqual([])
    // The data is there to be shown: otherwise this test could not fail.
    expect(shown).toBeGreaterThanOrEqual(3)
  })

  test('that is harmless, although it is no GET, shows a viewer no address either', async () => {
    const search = await gateway.call(null, 'POST', '/admin/suppression/search', { search: ADDRESS }, login('viewer'))
    expect(search.status).toBe(200)
    expect(search.text).toContain('m***@p***.example')
    for (const pattern of CLEAR) expect(search.text).not.toMatch(pattern)
    // A refusal repeats what was wrong with the input.
    const refused = await gateway.call(
      null,
      'GET',
      `/admin/stats?company=${ADDRESS}&x=${ADDRESS}`,
      undefined,
      login('viewer'),
    )
    expect([refused.status, CLEAR.some(pattern => pattern.test(refused.text))]).toEqual([422, false])
  })
})

test('support may change what concerns the suppression list, and see addresses', async () => {
  const inbox = await gateway.call(null, 'GET', '/admin/inbox', undefined, login('support'))
  expect(inbox.text).toContain(ADDRESS)
  const body = { email: 'other@example.com', justification: 'Asked by phone for no more mail' }
  expect((await gateway.call(null, 'POST', '/admin/suppression', body, login('support'))).status).toBe(201)
})
