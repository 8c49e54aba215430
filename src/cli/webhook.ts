import { setTimeout as sleep } from 'node:timers/promises'
import { isUuid } from '../contracts/uuid.ts'
import { sendTestEvent } from '../db/webhooks/changes.ts'
import {
  type DeliveryState,
  findAnyEndpoint,
  findDelivery,
  type ListedEndpoint,
  listAllEndpoints,
} from '../db/webhooks/operator.ts'
import {
  type Answer,
  actionOf,
  type Command,
  CommandFailed,
  type Input,
  notFound,
  type Opened,
  reading,
  required,
  text,
  UsageError,
  writing,
} from './command.ts'
import { requireCompany } from './company.ts'
import { operator } from './operator.ts'

/** Longer than the request timeout of a delivery. */
const MAX_WAIT_MS = 20_000
const POLL_MS = 200

export const webhookCommand: Command = {
  usage: [
    ['webhook list [--company ID|NAME]', 'all endpoints with their event types and state'],
    ['webhook test ENDPOINT_ID', 'send a webhook.test event through the running gateway and wait for the answer'],
  ],
  words: 2,
  options: { company: { type: 'string', value: 'ID|NAME', help: 'list: of this company' } },
  run({ words: [action, id], values }) {
    return actionOf(ACTIONS, action, 'webhook')(values, id)()
  },
}

/** Checks the arguments; the function that it returns opens the database. */
type Action = (values: Input['values'], id: string | undefined) => () => Promise<Answer>

const list: Action = (values, surplus) => {
  if (surplus !== undefined) throw new UsageError(`unexpected argument "${surplus}"`)
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

const test: Action = (values, given) => {
  if (values.company !== undefined) throw new UsageError('--company cannot be used here')
  const id = required(given, 'ENDPOINT_ID')
  if (!isUuid(id)) throw new UsageError('ENDPOINT_ID must be an id that webhook list shows, a UUID')
  return writing(async ({ db }) => {
    const endpoint = await findAnyEndpoint(db.pool, id)
    if (!endpoint) throw notFound(`There is no webhook endpoint ${id}. List them with: email-gateway webhook list`)
    if (!endpoint.enabled)
      throw new CommandFailed(
        `${endpoint.url} is disabled (${endpoint.disabledReason}); its company has to enable it first.`,
        'WEBHOOK_DISABLED',
      )
    const wanted = {
      endpointId: id,
      companyId: endpoint.companyId,
      deliveryId: db.clock.newId(),
      data: { webhookId: id, message: 'It works.' },
    }
    const { id: deliveryId } = await sendTestEvent(db.pool, wanted, { performedBy: operator() })
    return answerOf(endpoint, await waitForAttempt(db.pool, id, deliveryId))
  })
}

/** The delivery after its first attempt, or as it is when the time is over. */
async function waitForAttempt(
  db: Opened['db']['pool'],
  endpointId: string,
  deliveryId: string,
): Promise<DeliveryState> {
  const endMs = performance.now() + MAX_WAIT_MS
  for (;;) {
    const delivery = (await findDelivery(db, endpointId, deliveryId))!
    if (delivery.attempts > 0 || delivery.status !== 'waiting' || performance.now() > endMs) return delivery
    await sleep(POLL_MS)
  }
}

function answerOf({ url, companyName, id: endpointId }: ListedEndpoint, delivery: DeliveryState): Answer {
  const { status, attempts, lastStatus, lastError, lastDurationMs } = delivery
  const json = { endpointId, url, companyName, delivery }
  const took = lastDurationMs === null ? '' : ` after ${lastDurationMs} ms`
  if (status === 'delivered') return { json, lines: [`${url} answered ${lastStatus}${took}.`] }
  const why =
    attempts === 0
      ? `It was not sent within ${MAX_WAIT_MS / 1000} s: is a gateway running? It is sent when one is.`
      : `${url} did not accept it: ${lastError ?? lastStatus}${took}. ${whatFollows(delivery)}`
  return { json, lines: [why], exitCode: 1 }
}

function whatFollows({ status, lastStatus }: DeliveryState): string {
  if (status !== 'failed') return 'It is retried like every delivery.'
  return lastStatus === 410
    ? 'It is not retried: 410 means gone, so the endpoint was disabled; its company has to enable it again.'
    : 'It is not retried.'
}

const ACTIONS = { list, test }
