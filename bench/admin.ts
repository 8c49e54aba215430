import pg from 'pg'
import { hashPassword } from '../src/admins/administrators.ts'
import { hashEmail } from '../src/platform/text/hashing.ts'
import { databaseUrlOf } from './accept.ts'
import { fillEmails } from './support/fill-emails.ts'
import { median } from './support/measure.ts'
import { type RunningGateway, startOurs } from './support/processes.ts'
import { writeResults } from './support/results.ts'

const [MANY, FEW] = [Number(process.env.EMAILS ?? 1_000_000), 1_000]
const [MANY_SUPPRESSIONS, FEW_SUPPRESSIONS] = [MANY / 10, 100]
const TARGET = 3
const REQUESTS = 60
const WARM_UP = 10
const PASSWORD = 'bench password of the administrator'
const AUTHORIZATION = `Basic ${Buffer.from(`bench:${PASSWORD}`).toString('base64')}`

/** An e-mail that both databases have: number `n` of the fill. */
type Known = { outboxId: string; companyId: string }
/** A list or a look-up of the admin UI: its path, or a POST with a body. */
type Question = { path: string; body?: object }

const HASH = hashEmail('cliente7@example.com')
const LISTED = hashEmail('listed7@example.com')
const SEARCH = '/admin/emails/search'

/** Every list and look-up of the admin UI. Add yours here. */
const QUESTIONS: Record<string, (known: Known) => Question> = {
  overview: () => ({ path: '/admin/overview?range=30d' }),
  'live figures': () => ({ path: '/admin/live' }),
  'overview, last hour': () => ({ path: '/admin/overview?range=1h' }),
  'e-mails': () => ({ path: '/admin/emails' }),
  'e-mails, an older page': ({ outboxId }) => ({ path: `/admin/emails?olderThan=${outboxId}` }),
  'e-mails, back to newer ones': ({ outboxId }) => ({ path: `/admin/emails?newerThan=${outboxId}` }),
  'e-mails of a company': ({ companyId }) => ({ path: `/admin/emails?company=${companyId}` }),
  'e-mails that bounced': () => ({ path: '/admin/emails?status=BOUNCED' }),
  'e-mails of a company that are dead letters': ({ companyId }) => ({
    path: `/admin/emails?status=DLQ&company=${companyId}`,
  }),
  'e-mails that wait (none)': () => ({ path: '/admin/emails?status=PENDING' }),
  'e-mails that were sent and not delivered (none)': () => ({ path: '/admin/emails?status=SENT' }),
  'e-mails with a rare tag': () => ({ path: '/admin/emails?tag=rare' }),
  'e-mails with a tag that none has': () => ({ path: '/admin/emails?tag=absent' }),
  'e-mails of a template': () => ({ path: '/admin/emails?template=invoice' }),
  'search an id': ({ outboxId }) => ({ path: SEARCH, body: { search: outboxId } }),
  'search an address': () => ({ path: SEARCH, body: { search: 'cliente7@example.com' } }),
  'search an address that never got in': () => ({ path: SEARCH, body: { search: 'listed7@example.com' } }),
  'look up a hash': () => ({ path: `/admin/emails?recipient=${encodeURIComponent(HASH)}` }),
  'search an external id': () => ({ path: SEARCH, body: { search: 'order-7' } }),
  'search a message id': () => ({ path: SEARCH, body: { search: 'bench-7' } }),
  'one e-mail': ({ outboxId }) => ({ path: `/admin/emails/${outboxId}` }),
  'content of an e-mail': ({ outboxId }) => ({ path: `/admin/emails/${outboxId}/content` }),
  'suppression list': () => ({ path: '/admin/suppression' }),
  'suppression, one entry': () => ({ path: `/admin/suppression/${encodeURIComponent(LISTED)}` }),
  'suppression, one address with its history': () => ({
    path: `/admin/suppression/${encodeURIComponent(LISTED)}/history`,
  }),
  'suppression, figures': () => ({ path: '/admin/suppression/stats' }),
  'suppression, ended entries': () => ({ path: '/admin/suppression/ended?ending=REMOVED' }),
  'dead letters': () => ({ path: '/admin/dead-letters' }),
  'dead letters, groups': () => ({ path: '/admin/dead-letters/groups' }),
  'dead letters, count': () => ({ path: '/admin/dead-letters/count' }),
  'activity of a company': ({ companyId }) => ({ path: `/admin/companies/${companyId}/activity` }),
  fairness: () => ({ path: '/admin/fairness' }),
  webhooks: () => ({ path: '/admin/webhooks' }),
  templates: () => ({ path: '/admin/templates' }),
  providers: () => ({ path: '/admin/providers' }),
  inbox: () => ({ path: '/admin/inbox' }),
  'audit log': () => ({ path: '/admin/audit' }),
  'suppression, by its end': () => ({ path: '/admin/suppression?sort=expiresAt&order=asc' }),
  'suppression, by reason': () => ({ path: '/admin/suppression?reason=HARD_BOUNCE' }),
  'suppression, removed': () => ({ path: '/admin/suppression/ended' }),
  'suppression, look up an address': () => ({
    path: '/admin/suppression/look-up',
    body: { email: 'listed7@example.com' },
  }),
  'dead letters of a company': ({ companyId }) => ({ path: `/admin/dead-letters?company=${companyId}` }),
  'dead letters with a code that none has': () => ({ path: '/admin/dead-letters?code=ABSENT' }),
  'bulk actions': () => ({ path: '/admin/bulk-actions' }),
  companies: () => ({ path: '/admin/companies' }),
}

/** What a list or look-up takes with a million e-mails, compared with a thousand. */
export async function benchAdmin(): Promise<void> {
  const [many, few] = [await startOurs(), await startOurs()]
  try {
    const known = { many: await fill(many, MANY, MANY_SUPPRESSIONS), few: await fill(few, FEW, FEW_SUPPRESSIONS) }
    const rows: { name: string; many: number; few: number; ratio: number }[] = []
    for (const [name, question] of Object.entries(QUESTIONS)) {
      const times = { many: [] as number[], few: [] as number[] }
      for (let n = 0; n < WARM_UP + REQUESTS; n++) {
        for (const [where, gateway] of [
          ['many', many],
          ['few', few],
        ] as const) {
          const ms = await ask(gateway, question(known[where]))
          if (n >= WARM_UP) times[where].push(ms)
        }
      }
      const [manyMs, fewMs] = [median(times.many), median(times.few)]
      rows.push({ name, many: manyMs, few: fewMs, ratio: manyMs / fewMs })
      console.log(`${name}: ${manyMs.toFixed(1)} ms, ${fewMs.toFixed(1)} ms, ${(manyMs / fewMs).toFixed(2)}`)
    }
    const worst = rows.reduce((a, b) => (a.ratio > b.ratio ? a : b))
    writeResults('admin', [
      `p50 of ${REQUESTS} requests each, one after the other, in turn on a gateway with ${MANY} e-mails of the last week and ${MANY_SUPPRESSIONS} suppressions, and on one with ${FEW} and ${FEW_SUPPRESSIONS}.`,
      '',
      '| figure | target | measured |',
      '|---|---|---|',
      `| the slowest list or look-up with ${MANY} e-mails ÷ with ${FEW} | ≤ ${TARGET} | ${worst.ratio.toFixed(2)} (${worst.name}) |`,
      '',
      '| list or look-up | many, ms | few, ms | ratio |',
      '|---|---|---|---|',
      ...rows.map(one => `| ${one.name} | ${one.many.toFixed(1)} | ${one.few.toFixed(1)} | ${one.ratio.toFixed(2)} |`),
    ])
  } finally {
    await many.stop()
    await few.stop()
  }
}

async function fill(gateway: RunningGateway, emails: number, suppressions: number): Promise<Known> {
  const db = new pg.Client({ connectionString: databaseUrlOf(gateway) })
  await db.connect()
  await db.query('insert into administrators (name, password_hash) values ($1, $2)', [
    'bench',
    await hashPassword(PASSWORD),
  ])
  const startedMs = performance.now()
  await fillEmails(db, emails, suppressions)
  console.log(`${emails} e-mails in ${Math.round((performance.now() - startedMs) / 1000)} s`)
  const { rows } = await db.query<Known>(
    `select outbox_id as "outboxId", company_id as "companyId" from email_outbox where external_id = 'order-' || $1`,
    [Math.round(emails / 2) + 7],
  )
  await db.end()
  return rows[0]!
}

async function ask({ url }: RunningGateway, { path, body }: Question): Promise<number> {
  const startedMs = performance.now()
  const response = await fetch(url + path, {
    headers: {
      authorization: AUTHORIZATION,
      accept: 'application/json',
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`)
  return performance.now() - startedMs
}
