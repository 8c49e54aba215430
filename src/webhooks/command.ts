import { setTimeout as sleep } from 'node:timers/promises'
import { requireCompany } from '../companies/command.ts'
import {
  type Answer,
  actionOf,
  type Command,
  CommandFailed,
  type Input,
  notFound,
  type Opened,
  operator,
  reading,
  required,
  text,
  UsageError,
  writing,
} from '../console/command.ts'
import { counted } from '../console/words.ts'
import { isUuid } from '../platform/text/uuid.ts'
import { countWorkers } from '../settings/workers.ts'
import { sendTestEvent } from './endpoints.ts'
import {
  type DeliveryState,
  type EndpointQueue,
  findAnyEndpoint,
  findDelivery,
  type ListedEndpoint,
  listAllEndpoints,
  readEndpointQueue,
} from './overview.ts'

export const webhookCommand: Command = {
  usage: [
    ['webhook list [--company ID|NAME]', 'all endpoints with their event types and state'],
    [
      'webhook test ENDPOINT_ID',
      'send a webhook.test event through the running gateway and wait for the answer; exit code 1 when the endpoint does not accept it',
    ],
  ],
  words: { list: 0, test: 1 },
  options: { company: { type: 'string', value: 'ID|NAME', help: 'list: of this company', actions: ['list'] } },
  run({ words: [action, id], values }) {
    return actionOf(ACTIONS, action, 'webhook')(values, id)()
  },
}

/** Checks the arguments; the function that it returns opens the database. */
type Action = (values: Input['values'], id: string | undefined) => () => Promise<Answer>

const list: Action = values => {
  const company = text(values, 'company')
  return reading(async ({ db }) => {
    const companyId = company === undefined ? null : (await requireCompany(db, company)).companyId
    const endpoints = await listAllEndpoints(db.pool, companyId)
    return {
      json: { data: endpoints },
      lines: endpoints.length > 0 ? endpoints.map(lineOf) : ['No webhook endpoints.'],
    }
  })
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

const test: Action = (_values, given) => {
  const id = required(given, 'ENDPOINT_ID')
  if (!isUuid(id)) throw new UsageError('ENDPOINT_ID must be an id that webhook list shows, a UUID')
  return writing(opened => testEndpoint(opened, id))
}

const ACTIONS = { list, test }

/** Longer than the request timeout of a delivery. */
const MAX_WAIT_MS = 20_000
const POLL_MS = 200
/** What readEndpointQueue counts at most. */
const MANY_BEFORE = 1_000

/** Lets the running gateway send a test event, and waits for the endpoint's answer. */
export async function testEndpoint({ db }: Opened, id: string): Promise<Answer> {
  const endpoint = await findAnyEndpoint(db.pool, id)
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
  const wanted = {
    endpointId: id,
    companyId: endpoint.companyId,
    deliveryId: db.clock.newId(),
    data: { webhookId: id, message: 'It works.' },
  }
  const { id: deliveryId } = await sendTestEvent(db.pool, wanted, { performedBy: operator() })
  const delivery = await waitForAttempt(db.pool, id, deliveryId)
  if (delivery.attempts === 0 && delivery.status === 'waiting') throw await stillWaiting(db.pool, endpoint, delivery)
  return answerOf(endpoint, delivery)
}

type Pool = Opened['db']['pool']

/** The delivery after its first attempt, or as it is when there is none in time. */
async function waitForAttempt(db: Pool, endpointId: string, deliveryId: string): Promise<DeliveryState> {
  const endMs = performance.now() + MAX_WAIT_MS
  const { resumesInMs } = await readEndpointQueue(db, endpointId, deliveryId)
  for (;;) {
    const delivery = (await findDelivery(db, endpointId, deliveryId))!
    const isOver = performance.now() > endMs || resumesInMs > MAX_WAIT_MS
    if (delivery.attempts > 0 || delivery.status !== 'waiting' || isOver) return delivery
    await sleep(POLL_MS)
  }
}

function answerOf({ url, companyName, id: endpointId }: ListedEndpoint, delivery: DeliveryState): Answer {
  const { status, lastStatus, lastError, lastDurationMs } = delivery
  const took = lastDurationMs === null ? '' : ` after ${lastDurationMs} ms`
  if (status === 'delivered')
    return { json: { endpointId, url, companyName, delivery }, lines: [`${url} answered ${lastStatus}${took}.`] }
  throw new CommandFailed(
    `${url} did not accept it: ${lastError ?? lastStatus}${took}. ${whatFollows(delivery)}`,
    'WEBHOOK_NOT_ACCEPTED',
  )
}

function whatFollows({ status, lastStatus }: DeliveryState): string {
  if (status !== 'failed') return 'It is retried like every delivery.'
  return lastStatus === 410
    ? 'It is not retried: 410 means gone, so the endpoint was disabled; its company has to enable it again.'
    : 'It is not retried.'
}

async function stillWaiting(db: Pool, { id, url }: ListedEndpoint, delivery: DeliveryState): Promise<CommandFailed> {
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
