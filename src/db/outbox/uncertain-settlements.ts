import { type Queryable, run } from '../query.ts'
import { type Settlement, storable } from './settle.ts'

/**
 * Those settlements whose last event is in the log, with the same metadata: its attempt number, duration and message id make it the
 * event of this settlement. The state of the e-mail would be no evidence, since it may have gone on. A settlement without an event
 * is not looked for: nothing follows from it.
 */
export async function findSettled(db: Queryable, settlements: Settlement[]): Promise<Set<Settlement>> {
  const withEvent = settlements.flatMap(one => {
    const event = one.events.at(-1)
    return event ? [{ settlement: one, event }] : []
  })
  if (withEvent.length === 0) return new Set()
  const rows = await run<{ nth: number }>(
    db,
    'find-settled',
    `select s.nth::int from unnest($1::uuid[], $2::text[], $3::jsonb[]) with ordinality as s(outbox_id, type, metadata, nth)
     where exists (
       select from email_events e where e.outbox_id = s.outbox_id and e.type = s.type and e.metadata = s.metadata)`,
    [
      withEvent.map(one => one.settlement.outboxId),
      withEvent.map(one => one.event.type),
      withEvent.map(one => storable(JSON.stringify(one.event.metadata))),
    ],
  )
  return new Set(rows.map(row => withEvent[row.nth - 1]!.settlement))
}
