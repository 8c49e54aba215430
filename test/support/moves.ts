import { type EmailStatus, mayMove } from '../../src/outbox/states.ts'
import type { Queryable } from '../../src/platform/postgres/query.ts'

/** Writes down every change of an e-mail's status beside the events of the same transaction. */
export async function watchStatuses(db: Queryable): Promise<void> {
  await db.query(`
    create table moves (outbox_id uuid, before text, after text, transaction xid8);
    create table written (outbox_id uuid, type text, transaction xid8);
    create function note_move() returns trigger language plpgsql as $$ begin
      insert into moves values (new.outbox_id, old.status, new.status, pg_current_xact_id());
      return null; end $$;
    create function note_event() returns trigger language plpgsql as $$ begin
      insert into written values (new.outbox_id, new.type, pg_current_xact_id()); return null; end $$;
    create trigger note_move after update on email_outbox for each row
      when (old.status is distinct from new.status) execute function note_move();
    create trigger note_event after insert on email_events for each row execute function note_event();`)
}

/** Which event belongs to which new status. PENDING has none of its own: nothing in these tests returns an e-mail to ready. */
const EVENT_OF: Partial<Record<EmailStatus, string>> = {
  PROCESSING: 'SENT_ATTEMPT',
  RETRY_SCHEDULED: 'RETRY_SCHEDULED',
  SENT: 'SENT',
  DELIVERED: 'DELIVERED',
  BOUNCED: 'BOUNCE',
  COMPLAINED: 'COMPLAINT',
  REJECTED: 'REJECTED',
  FAILED: 'FAILED',
  DLQ: 'FAILED',
  EXPIRED: 'EXPIRED',
  CANCELLED: 'CANCELLED',
}

/** Moves that are not in the table. */
export async function illegalMoves(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<{ before: EmailStatus; after: EmailStatus }>(
    'select distinct before, after from moves',
  )
  return rows.filter(({ before, after }) => !mayMove(before, after)).map(({ before, after }) => `${before} → ${after}`)
}

/** Moves that are not in the table, or that did not write their event in the same transaction. */
export async function unaccounted(db: Queryable): Promise<string[]> {
  const { rows: moves } = await db.query<{ before: EmailStatus; after: EmailStatus; types: string[]; many: number }>(
    `select before, after, types, count(*)::int as many from (
       select m.before, m.after, array(select w.type from written w
         where w.outbox_id = m.outbox_id and w.transaction = m.transaction order by w.type) as types
       from moves m) t group by before, after, types`,
  )
  return moves
    .filter(({ before, after, types }) => !mayMove(before, after) || !types.includes(EVENT_OF[after] ?? '?'))
    .map(
      ({ before, after, types, many }) => `${before} → ${after} with ${types.join(', ') || 'no event'} (${many} times)`,
    )
}
