import { isUuid } from '../contracts/uuid.ts'
import { type ListedEndpoint, listAllEndpoints } from '../db/webhooks/operator.ts'
import {
  type Answer,
  actionOf,
  type Command,
  type Input,
  reading,
  required,
  text,
  UsageError,
  writing,
} from './command.ts'
import { requireCompany } from './company.ts'
import { testEndpoint } from './webhook-test.ts'

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
