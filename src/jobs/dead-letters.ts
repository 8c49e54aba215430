import type { DeadLetterFilter, DeadStatus } from '../outbox/dead-letters.ts'
import { type DeadLetterUse, type NamedPurge, purgeByIds, walkDeadLetters } from '../outbox/dead-letters-purge.ts'
import { type NamedReplay, replayByIds } from '../outbox/dead-letters-replay.ts'
import type { Queryable } from '../platform/postgres/query.ts'
import { addItems, BATCH_SIZE, type Batch, deleteItems, listItems, type OpenBulkAction } from './stored.ts'
import type { BulkAction, BulkCounts } from './view.ts'

/** Housekeeping calls about once a second: after a minute, what is still held is given up. */
const MAX_WAITS = 60

export type DeadLetterItem = { outboxId: string }

/** First the walk over the filter, from the oldest dead letter to the newest; then the items: those chosen by id, and those held. */
export async function deadLetterBatch(tx: Queryable, actionId: string, action: OpenBulkAction): Promise<Batch> {
  const isWalk = action.selection.chosen === undefined && action.position.walked !== true
  return isWalk ? walkBatch(tx, actionId, action) : itemBatch(tx, actionId, action)
}

const verbOf = ({ kind }: OpenBulkAction): DeadLetterUse => (kind === 'purge-dead-letters' ? 'purge' : 'replay')

async function walkBatch(tx: Queryable, actionId: string, action: OpenBulkAction): Promise<Batch> {
  const { after } = action.position
  const filter = filterOf(action.selection)
  const found = await walkDeadLetters(tx, filter, { use: verbOf(action), after, limit: BATCH_SIZE })
  const last = found.at(-1)
  if (!last) return { counts: {}, position: { walked: true }, next: 'more' }
  const { counts, busy } = await apply(
    tx,
    action,
    found.map(one => one.outboxId),
  )
  await addItems(
    tx,
    actionId,
    busy.map((outboxId): DeadLetterItem => ({ outboxId })),
  )
  return { counts, position: { after: last }, next: 'more' }
}

async function itemBatch(tx: Queryable, actionId: string, action: OpenBulkAction): Promise<Batch> {
  const items = await listItems<DeadLetterItem>(tx, actionId, BATCH_SIZE)
  const { walked = true, waits = 0 } = action.position
  if (items.length === 0) return { counts: {}, position: { walked }, next: 'end' }
  const { counts, busy } = await apply(
    tx,
    action,
    items.map(({ item }) => item.outboxId),
  )
  const isOver = waits >= MAX_WAITS
  const kept = new Set(isOver ? [] : busy)
  const ended = items.filter(({ item }) => !kept.has(item.outboxId))
  await deleteItems(
    tx,
    actionId,
    ended.map(one => one.ordinal),
  )
  if (isOver && busy.length > 0) counts.held = busy.length
  if (ended.length > 0) return { counts, position: { walked }, next: 'more' }
  return { counts, position: { walked, waits: waits + 1 }, next: 'later' }
}

const OUTCOME = {
  replayed: 'replayed',
  purged: 'purged',
  'payload-purged': 'payloadPurged',
  'not-found': 'notFound',
} as const

async function apply(tx: Queryable, action: OpenBulkAction, outboxIds: string[]) {
  const outcomes: (NamedReplay | NamedPurge)[] =
    verbOf(action) === 'purge' ? await purgeByIds(tx, outboxIds) : await replayByIds(tx, outboxIds, action.requestedBy)
  const counts: BulkCounts = {}
  const busy: string[] = []
  for (const { outboxId, outcome } of outcomes) {
    if (outcome === 'busy') busy.push(outboxId)
    else counts[OUTCOME[outcome]] = (counts[OUTCOME[outcome]] ?? 0) + 1
  }
  return { counts, busy }
}

function filterOf(selection: BulkAction['selection']): DeadLetterFilter {
  const { company = null, code = null, status = null, since = null, until = null } = selection
  return { companyId: company, code, status: status as DeadStatus | null, since, until }
}
