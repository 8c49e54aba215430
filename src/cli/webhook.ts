import { setTimeout as sleep } from 'node:timers/promises'
import { isUuid } from '../contracts/uuid.ts'
import { putTestDelivery } from '../db/webhooks/deliveries.ts'
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
  type Opened,
  reading,
  required,
  text,
  UsageError,
  writing,
} from './command.ts'
import { known } from './company.ts'

/** Longer than an endpoint may take to answer. */
const PATIENCE_MS = 20_000
const LOOK_AGAIN_MS = 200

export const webhookCommand: Command = {
  summary: 'list and test webhook endpoints',
  usage: [
    ['webhook list [--company ID|NAME]', 'all endpoints, with what they want and how they do'],
    ['webhook test ENDPOINT_ID', 'have the running gateway send a webhook.test event, and wait for the answer'],
  ],
  words: 2,
  options: { company: { type: 'string', value: 'ID|NAME', help: 'of list: of this company' } },
  run({ words: [action, id], values }) {
    return actionOf(ACTIONS, action, 'webhook')(values, id)()
  },
}

/** Checked before the database is opened; what it returns opens it. */
type Action = (values: Input['values'], id: string | undefined) => () => Promise<Answer>

const list: Action = (values, surplus) => {
  if (surplus !== undefined) throw new UsageError(`"${surplus}" is one word too many`)
  const company = text(values, 'company')
  return reading(async ({ db }) => {
    const companyId = company === undefined ? null : (await known(db, company)).companyId
    const endpoints = await listAllEndpoints(db.pool, companyId)
    return { json: endpoints, lines: endpoints.length > 0 ? endpoints.map(lineOf) : ['No webhook endpoints.'] }
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
  if (values.company !== undefined) throw new UsageError('--company has no meaning here')
  const id = required(given, 'ENDPOINT_ID')
  if (!isUuid(id)) throw new UsageError('ENDPOINT_ID must be an id that webhook list shows, a UUID')
  return writing(async ({ db }) => {
    const endpoint = await findAnyEndpoint(db.pool, id)
    if (!endpoint)
      throw new CommandFailed(`There is no webhook endpoint ${id}. List them with: email-gateway webhook list`)
    if (!endpoint.enabled)
      throw new CommandFailed(
        `${endpoint.url} is disabled (${endpoint.disabledReason}); its company has to enable it first.`,
      )
    const { id: deliveryId } = await putTestDelivery(db.pool, {
      endpointId: id,
      companyId: endpoint.companyId,
      deliveryId: db.clock.newId(),
      data: { webhookId: id, message: 'It works.' },
    })
    return answerOf(endpoint, await tried(db.pool, id, deliveryId))
  })
}

/** After its first attempt, or as it is when nobody made one in time. */
async function tried(db: Opened['db']['pool'], endpointId: string, deliveryId: string): Promise<DeliveryState> {
  const endMs = performance.now() + PATIENCE_MS
  for (;;) {
    const delivery = (await findDelivery(db, endpointId, deliveryId))!
    if (delivery.attempts > 0 || delivery.status !== 'waiting' || performance.now() > endMs) return delivery
    await sleep(LOOK_AGAIN_MS)
  }
}

function answerOf({ url, companyName, id: endpointId }: ListedEndpoint, delivery: DeliveryState): Answer {
  const { status, attempts, lastStatus, lastError, lastDurationMs } = delivery
  const json = { endpointId, url, companyName, delivery }
  const took = lastDurationMs === null ? '' : ` after ${lastDurationMs} ms`
  if (status === 'delivered') return { json, lines: [`${url} answered ${lastStatus}${took}.`] }
  const why =
    attempts === 0
      ? `Nobody has sent it within ${PATIENCE_MS / 1000} s: is a gateway running? It is sent when one is.`
      : `${url} did not take it: ${lastError ?? lastStatus}${took}. It is sent again as every webhook is.`
  return { json, lines: [why], exitCode: 1 }
}

const ACTIONS = { list, test }
