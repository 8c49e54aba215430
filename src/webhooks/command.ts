import { setTimeout as sleep } from 'node:timers/promises'
import { requireCompany } from '../companies/command.ts'
import {
  type Answer,
  CommandFailed,
  command,
  notFound,
  operator,
  option,
  UsageError,
  word,
} from '../console/command.ts'
import { counted } from '../console/words.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { iso, literal, type Queryable, sql } from '../platform/postgres/query.ts'
import { isUuid } from '../platform/text/uuid.ts'
import { countWorkers } from '../settings/workers.ts'
import { findDelivery } from './deliveries.ts'
import { ENDPOINT_COLUMNS, NOT_DELETED, sendTestEvent } from './endpoints.ts'
import { WAITING, WITH_RETRIES } from './overview.ts'
import type { WebhookDelivery, WebhookEndpoint } from './view.ts'

const ENDPOINT_ID = word('ENDPOINT_ID', given => {
  if (!isUuid(given)) throw new UsageError('ENDPOINT_ID must be an id that webhook list shows, a UUID')
  return given
})

const options = { company: option.text('ID|NAME', 'list: of this company') }

export const webhookCommand = command({ name: 'webhook', options }, action => ({
  list: action(
    {
      form: '[--company ID|NAME]',
      what: 'all endpoints with their event types and state',
      options: ['company'],
      opens: 'reading',
    },
    async ({ options: { company } }, { db }) => {
      const companyId = company === undefined ? undefined : (await requireCompany(db, company)).companyId
      const endpoints = await listAllEndpoints(db.pool, { companyId })
      const lines = endpoints.length > 0 ? endpoints.map(lineOf) : ['No webhook endpoints.']
      return { json: { data: endpoints }, lines }
    },
  ),

  test: action(
    {
      words: [ENDPOINT_ID],
      what: 'send a webhook.test event through the running gateway and wait for the answer; exit code 1 when the endpoint does not accept it',
      opens: 'writing',
    },
    ({ words: [id] }, { db }) => testEndpoint(db, id),
  ),
}))

type ListedEndpoint = WebhookEndpoint & { companyId: string; companyName: string; waiting: number }

/** Live and test endpoints, of all companies unless one is named. */
function listAllEndpoints(
  db: Queryable,
  { companyId, endpointId }: { companyId?: string | undefined; endpointId?: string },
): Promise<ListedEndpoint[]> {
  return sql<ListedEndpoint>(db)`${WITH_RETRIES}
    select ${ENDPOINT_COLUMNS}, w.company_id, c.name as "companyName", ${WAITING} as waiting
    from webhook_endpoints w join companies c on c.company_id = w.company_id
    where ${NOT_DELETED} and w.company_id = coalesce(${companyId}, w.company_id) and w.endpoint_id = coalesce(${endpointId}, w.endpoint_id)
    order by c.name, w.endpoint_id`
}

function lineOf({ id, url, companyName, test, eventTypes, waiting, ...endpoint }: ListedEndpoint): string {
  const { enabled, disabledReason, disabledAt, failingSince } = endpoint
  const state = !enabled
    ? `DISABLED (${disabledReason}) since ${disabledAt}`
    : failingSince
      ? `failing since ${failingSince}`
      : 'enabled'
  return [
    ...[id, companyName, ...(test ? ['test'] : []), url, state],
    ...[`${waiting === 1_000 ? '1000 or more' : waiting} waiting`, eventTypes.join(',')],
  ].join('  ')
}

/** Longer than the request timeout of a delivery. */
const MAX_WAIT_MS = 20_000
const POLL_MS = 200

/** Lets the running gateway send a test event, and waits for the endpoint's answer. */
async function testEndpoint(db: Database, id: string): Promise<Answer> {
  const [endpoint] = await listAllEndpoints(db.pool, { endpointId: id })
  if (!endpoint) throw notFound(`There is no webhook endpoint ${id}. List them with: email-gateway webhook list`)
  if (!endpoint.enabled)
    throw new CommandFailed(
      `${endpoint.url} is disabled (${endpoint.disabledReason}); its company has to enable it first.`,
      'WEBHOOK_DISABLED',
    )
  if ((await countWorkers(db.pool)) === 0)
    throw new CommandFailed(
      'Nothing was sent: no process that delivers webhooks is running. Start one with: email-gateway start',
      'NO_WORKER',
    )
  const { id: deliveryId } = await sendTestEvent(db, endpoint.companyId, endpoint, { performedBy: operator() })
  const delivery = await waitForAttempt(db.pool, id, deliveryId)
  if (delivery.attempts === 0 && delivery.status === 'waiting') throw await stillWaiting(db.pool, endpoint, delivery)
  return answerOf(endpoint, delivery)
}

/** The delivery after its first attempt, or as it is when there is none in time. */
async function waitForAttempt(db: Queryable, endpointId: string, deliveryId: string): Promise<WebhookDelivery> {
  const endMs = performance.now() + MAX_WAIT_MS
  const { resumesInMs } = await readEndpointQueue(db, endpointId, deliveryId)
  for (;;) {
    const delivery = (await findDelivery(db, endpointId, deliveryId))!
    const isOver = performance.now() > endMs || resumesInMs > MAX_WAIT_MS
    if (delivery.attempts > 0 || delivery.status !== 'waiting' || isOver) return delivery
    await sleep(POLL_MS)
  }
}

function answerOf({ url, companyName, id: endpointId }: ListedEndpoint, delivery: WebhookDelivery): Answer {
  const { id, status, attempts, lastStatus, lastError, lastDurationMs } = delivery
  const took = lastDurationMs === null ? '' : ` after ${lastDurationMs} ms`
  const shown = { id, status, attempts, lastStatus, lastError, lastDurationMs }
  if (status === 'delivered')
    return { json: { endpointId, url, companyName, delivery: shown }, lines: [`${url} answered ${lastStatus}${took}.`] }
  throw new CommandFailed(
    `${url} did not accept it: ${lastError ?? lastStatus}${took}. ${whatFollows(delivery)}`,
    'WEBHOOK_NOT_ACCEPTED',
  )
}

function whatFollows({ status, lastStatus }: WebhookDelivery): string {
  if (status !== 'failed') return 'It is retried like every delivery.'
  return lastStatus === 410
    ? 'It is not retried: 410 means gone, so the endpoint was disabled; its company has to enable it again.'
    : 'It is not retried.'
}

async function stillWaiting(db: Queryable, { id, url }: ListedEndpoint, delivery: WebhookDelivery) {
  const queue = await readEndpointQueue(db, id, delivery.id)
  const workers = await countWorkers(db)
  const known = [
    ...standing(url, queue),
    ...(workers === 0 ? ['No process that delivers webhooks runs any more.'] : []),
  ]
  return new CommandFailed(['It waits, and was not tried yet.', ...known].join(' '), 'WEBHOOK_WAITING')
}

function standing(url: string, { failingSince, lastError, before, resumesInMs }: EndpointQueue): string[] {
  const number =
    before === MANY_BEFORE ? `${MANY_BEFORE} or more deliveries` : counted(before, 'delivery', 'deliveries')
  return [
    ...(failingSince ? [`${url} has been failing since ${failingSince}${lastError ? ` (${lastError})` : ''}.`] : []),
    ...(resumesInMs > 0 ? [`It is tried again in ${Math.ceil(resumesInMs / 1000)} s.`] : []),
    before === 1 ? `${number} waits before this one.` : `${number} wait before this one.`,
  ]
}

/** What is counted at most. */
const MANY_BEFORE = 1_000

type EndpointQueue = {
  failingSince: string | null
  /** Of its last attempt that failed: a status such as 503, or what went wrong. */
  lastError: string | null
  /** Ready deliveries that come before this one, up to MANY_BEFORE. */
  before: number
  /** 0: deliveries are tried now. After failures the endpoint is left alone for some time. */
  resumesInMs: number
}

/** What a delivery of this endpoint waits for. Its failed deliveries are among the oldest ready ones and those that wait for a retry. */
async function readEndpointQueue(db: Queryable, endpointId: string, deliveryId: string): Promise<EndpointQueue> {
  const [row] = await sql<EndpointQueue>(db, 'read-endpoint-queue')`
    with tried as (
       (select d.last_attempt_at, d.last_status, d.last_error
        from (select r.delivery_id from webhook_ready r where r.endpoint_id = ${endpointId} order by r.sequence limit 100) r
        join webhook_deliveries d on d.endpoint_id = ${endpointId} and d.delivery_id = r.delivery_id where d.attempts > 0)
       union all
       (select d.last_attempt_at, d.last_status, d.last_error
        from (select * from webhook_deliveries where due_at is not null limit 10000) d where d.endpoint_id = ${endpointId})
     )
     select ${iso('s.failing_since')} as "failingSince",
       (select coalesce(t.last_error, t.last_status::text) from tried t order by t.last_attempt_at desc nulls last limit 1) as "lastError",
       (select count(*) from (select from webhook_ready r where r.endpoint_id = ${endpointId} and r.sequence < d.sequence limit ${literal(MANY_BEFORE)}) r)::int as before,
       (case when s.resume_at > now() then extract(epoch from s.resume_at - now()) * 1000 else 0 end)::float8 as "resumesInMs"
     from webhook_deliveries d join webhook_state s using (endpoint_id) where d.endpoint_id = ${endpointId} and d.delivery_id = ${deliveryId}`
  return row!
}
