-- The start of an attempt wrote its facts twice: into the e-mail's row, and into a row of the log. They stay in the e-mail's row
-- now, for as long as nothing is written over them there, and the view email_events tells them from it.

-- Since when the e-mail was in hand that was then started. Not null: the last start is told by this row. Null: by the log.
alter table email_outbox add column received_at timestamptz;

-- The ids of a start's events, the same before and after it is in the log (place 0). Two starts of one attempt have two times.
-- One expression, which is inlined: as a query of its own it took five times as long.
create function start_event_id(p_started timestamptz, p_attempt uuid, p_place int) returns uuid language sql stable as $$
  select (left(lpad(to_hex((date_part('epoch', p_started) * 1000000)::bigint / 1000), 12, '0'), 8) || '-'
    || right(to_hex((date_part('epoch', p_started) * 1000000)::bigint / 1000), 4) || '-7'
    || lpad(to_hex((date_part('epoch', p_started) * 1000000)::bigint % 1000), 3, '0') || substr(p_attempt::text, 19, 17) || p_place)::uuid
$$;

-- One part for each event of a start: a query for another type reads no e-mail's row.
create or replace view email_events as
select l.outbox_id, e.event_id, e.type, e.created_at, e.metadata
from email_event_log l cross join lateral (
  select l.event_id, l.type, l.created_at, case
    when l.type = 'SENT' and l.metadata ?& array['attempt', 'durationMs'] then l.metadata || jsonb_build_object('sesMessageId', l.metadata -> 'messageId',
      'attempts', l.metadata -> 'attempt', 'processingTimeMs', l.metadata -> 'durationMs')
    else l.metadata end
  where l.type <> 'STARTED'
  union all
  select (left(l.event_id::text, 35) || part.place)::uuid, part.type, coalesce(part.at, l.created_at),
    jsonb_build_object('attempt', l.metadata -> 'attempt') || part.metadata
  from (values
    (1, 'RECEIVED', (l.metadata ->> 'receivedAt')::timestamptz, jsonb_build_object('requestId', l.metadata -> 'requestId')),
    (2, 'VALIDATED', null, jsonb_build_object('validations', array['INTEGRITY', 'OUTBOX', 'RECIPIENT', 'TEMPLATE'])),
    (3, 'SENT_ATTEMPT', null,
      jsonb_build_object('provider', l.metadata -> 'provider', 'attemptId', l.metadata -> 'attemptId'))
  ) as part(place, type, at, metadata)
  where l.type = 'STARTED'
) e(event_id, type, created_at, metadata)
union all
select o.outbox_id, start_event_id(coalesce(o.started_at, o.received_at), o.attempt_id, 1), 'RECEIVED', o.received_at,
  jsonb_build_object('attempt', o.attempts, 'requestId', o.request_id)
from email_outbox o where o.received_at is not null
union all
select o.outbox_id, start_event_id(coalesce(o.started_at, o.received_at), o.attempt_id, 2), 'VALIDATED', coalesce(o.started_at, o.received_at),
  jsonb_build_object('attempt', o.attempts, 'validations', array['INTEGRITY', 'OUTBOX', 'RECIPIENT', 'TEMPLATE'])
from email_outbox o where o.received_at is not null
union all
select o.outbox_id, start_event_id(coalesce(o.started_at, o.received_at), o.attempt_id, 3), 'SENT_ATTEMPT', coalesce(o.started_at, o.received_at),
  jsonb_build_object('attempt', o.attempts, 'provider', o.provider, 'attemptId', o.attempt_id)
from email_outbox o where o.received_at is not null;

-- What is in doubt or dead may start again, over the facts of the start before: they go into the log. By triggers of these two tables, which
-- few e-mails enter, so that it holds for a process of the version before, too, which knows nothing of it (and clears started_at).
create function log_the_start() returns trigger language plpgsql as $$
begin
  insert into email_event_log (outbox_id, event_id, type, created_at, metadata)
  select o.outbox_id, start_event_id(at, o.attempt_id, 0), 'STARTED', at, jsonb_build_object('attempt', o.attempts,
    'requestId', o.request_id, 'provider', o.provider, 'attemptId', o.attempt_id, 'receivedAt', o.received_at)
  from email_outbox o cross join lateral (select coalesce(o.started_at, o.received_at) as at) t
  where o.outbox_id = new.outbox_id and o.received_at is not null;
  if found then
    update email_outbox set received_at = null where outbox_id = new.outbox_id;
  end if;
  return null;
end $$;
create trigger log_the_start after insert or update of since on unknown_sends for each row execute function log_the_start();
create trigger log_the_start after insert or update of moved_at on dead_letters for each row execute function log_the_start();

-- That an e-mail was sent is told of all its recipients by its own row, too: their rows are written when something else becomes of
-- them. The view has the name and the columns that the table had.
alter table email_recipients rename to email_recipient_list;
do $$
declare
  child regclass;
begin
  for child in select inhrelid from pg_inherits where inhparent = 'email_recipient_list'::regclass loop
    execute format('alter table %s rename to %I', child, replace(child::text, 'email_recipients', 'email_recipient_list'));
  end loop;
end $$;

create view email_recipients as
select l.outbox_id, l.ordinal, l.kind, l.address, l.display_name, l.address_key,
  case when l.status = 'PENDING' and o.sent_at is not null then 'SENT' else l.status end as status, l.suppressed
from email_recipient_list l left join email_outbox o on o.outbox_id = l.outbox_id;
alter view email_recipients alter column status set default 'PENDING', alter column suppressed set default false;

-- For a process of the version before, and for whoever corrects a row by hand.
create function put_email_recipient() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into email_recipient_list (outbox_id, ordinal, kind, address, display_name, address_key, status, suppressed)
    values (new.outbox_id, new.ordinal, new.kind, new.address, new.display_name, new.address_key, new.status, new.suppressed);
    return new;
  elsif tg_op = 'UPDATE' then
    update email_recipient_list set kind = new.kind, address = new.address, display_name = new.display_name, address_key = new.address_key,
      status = new.status, suppressed = new.suppressed
    where outbox_id = old.outbox_id and ordinal = old.ordinal;
    return new;
  end if;
  delete from email_recipient_list where outbox_id = old.outbox_id and ordinal = old.ordinal;
  return old;
end $$;
create trigger put_email_recipient instead of insert or update or delete on email_recipients
  for each row execute function put_email_recipient();

-- Room for both versions that an e-mail's life adds to its row: at 60, a quarter of all updates went to another page and into both
-- indexes. What lies there already stays as it is.
do $$
declare
  child regclass;
begin
  for child in select inhrelid from pg_inherits where inhparent = 'email_outbox'::regclass loop
    execute format('alter table %s set (fillfactor = 40)', child);
  end loop;
end $$;

create or replace function ensure_email_partitions(p_day date) returns void language plpgsql as $$
declare
  parent text;
  child text;
  lower_bound uuid := uuid_v7_floor(p_day::timestamp at time zone 'UTC');
  upper_bound uuid := uuid_v7_floor((p_day + 1)::timestamp at time zone 'UTC');
begin
  perform pg_advisory_xact_lock(hashtext('ensure_email_partitions'));
  foreach parent in array array['email_outbox', 'email_recipient_list', 'email_content', 'email_attachments', 'email_event_log']
  loop
    child := parent || '_' || to_char(p_day, 'YYYYMMDD');
    continue when to_regclass(child) is not null;
    execute format('create table %I (like %I including defaults including constraints including storage)', child, parent);
    if parent in ('email_outbox', 'email_recipient_list') then
      -- Room for the heap-only updates of the e-mail's own life.
      execute format('alter table %I set (fillfactor = %s)', child, case parent when 'email_outbox' then 40 else 60 end);
    end if;
    execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, child, lower_bound, upper_bound);
  end loop;
end $$;
