import { type Answer, type TestCompany, type TestGateway, until } from './gateway.ts'

/** Whatever JSON came back; a test says what it should look like. */
export type Json = Answer['body']

/** A body that every rule lets through. */
export function mail(change: Record<string, unknown> = {}): Record<string, unknown> {
  return { to: 'maria@example.com', subject: 'Hello', html: '<p>It works.</p>', ...change }
}

export const send = (
  gateway: TestGateway,
  company: { apiKey: string },
  body: unknown = mail(),
  headers?: Record<string, string>,
) => gateway.call(company, 'POST', '/v1/email/send', body, headers)

/** Sends what has to be accepted, and answers its id. */
export async function sendOk(
  gateway: TestGateway,
  company: { apiKey: string },
  change: Record<string, unknown> = {},
  headers?: Record<string, string>,
): Promise<string> {
  const answer = await send(gateway, company, mail(change), headers)
  if (answer.status !== 202) throw new Error(`expected 202, got ${answer.status}: ${answer.text.slice(0, 500)}`)
  return answer.body.outboxId
}

export async function read(gateway: TestGateway, company: TestCompany, outboxId: string): Promise<Json> {
  return (await gateway.call(company, 'GET', `/v1/email/${outboxId}`)).body
}

export const untilStatus = (gateway: TestGateway, company: TestCompany, outboxId: string, status: string) =>
  until(
    () => read(gateway, company, outboxId),
    email => email?.status === status,
  )

export async function rows(gateway: TestGateway, sql: string, values: unknown[] = []): Promise<Json[]> {
  return (await gateway.db.pool.query(sql, values)).rows
}

/** Ends what would be tried again while other tests look on. */
export async function cancelLater(gateway: TestGateway, company: TestCompany, outboxId: string): Promise<void> {
  await gateway.call(company, 'POST', `/v1/email/${outboxId}/cancel`)
}

/** What capture kept of one e-mail. */
export async function captured(gateway: TestGateway, outboxId: string): Promise<Json> {
  const [row] = await rows(gateway, 'select message from capture_inbox where outbox_id = $1', [outboxId])
  return row?.message
}

const KEPT = {
  email_outbox: 'company_id = $1',
  recipients: 'company_id = $1',
  idempotency_keys: 'company_id = $1',
  email_ready: 'company_id = $1',
  email_scheduled: 'company_id = $1',
}
/** These name no company; what belongs to nobody is counted as well. */
const HANGING_ON = ['email_events', 'email_content', 'email_recipients', 'email_attachments']

/** Every row the database has of a company's e-mails. After nothing but refusals: all zero. */
export async function keptOf(gateway: TestGateway, companyId: string): Promise<Record<string, number>> {
  const own = Object.entries(KEPT).map(
    ([table, where]) => `(select count(*) from ${table} where ${where})::int as ${table}`,
  )
  const hanging = HANGING_ON.map(
    table =>
      `(select count(*) from ${table} x left join email_outbox o using (outbox_id) where o.company_id = $1 or o.outbox_id is null)::int as ${table}`,
  )
  return (await rows(gateway, `select ${[...own, ...hanging].join(', ')}`, [companyId]))[0]
}

export const NOTHING_KEPT = Object.fromEntries([...Object.keys(KEPT), ...HANGING_ON].map(table => [table, 0]))

export const sleep = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))
