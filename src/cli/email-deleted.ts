import { listEvents } from '../db/outbox/emails.ts'
import type { Queryable } from '../db/query.ts'
import { type Answer, notFound } from './command.ts'

const SENT = ['SENT', 'DELIVERED', 'BOUNCE', 'COMPLAINT']

/** What is left of an e-mail whose row somebody has deleted. The gateway deletes whole days only, with their events. */
export async function describeDeleted(db: Queryable, outboxId: string): Promise<Answer> {
  const events = await listEvents(db, outboxId)
  if (events.length === 0) throw notFound(`There is no e-mail ${outboxId}.`)
  const summary = deletedRow(events.map(event => event.type))
  return {
    json: { outboxId, status: null, rowDeleted: true, summary, events },
    lines: [
      summary,
      'Next: See what else is missing with email-gateway ledger, and find out who deletes.',
      ...events.map(event => `${event.createdAt}  ${event.type}  ${JSON.stringify(event.metadata)}`),
    ],
    exitCode: 1,
  }
}

function deletedRow(types: string[]): string {
  const deleted = 'Its row in email_outbox was deleted by another program than the gateway; its events are left.'
  if (types.some(type => SENT.includes(type))) return `${deleted} They say that it was sent.`
  return types.includes('SENT_ATTEMPT')
    ? `${deleted} An attempt was begun and no answer is recorded: ask the provider whether it was sent.`
    : `${deleted} No attempt was begun, so it was never sent.`
}
