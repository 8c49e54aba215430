-- The start of an attempt is three events that are always written together, by every e-mail: as three rows they were a third of
-- what sending costs the database. They are one row of the log now, and three of the view, which has the name and the columns
-- that the table had. The view also adds to SENT what is the same under another name.

alter table email_events rename to email_event_log;
do $$
declare
  child regclass;
begin
  for child in select inhrelid from pg_inherits where inhparent = 'email_event_log'::regclass loop
    execute format('alter table %s rename to %I', child, replace(child::text, 'email_events', 'email_event_log'));
  end loop;
end $$;
alter table email_event_log drop constraint email_events_type_check;
-- Not looked for in the rows that are there: what held before was stricter.
alter table email_event_log add constraint email_event_log_type_check check (type in (
  'QUEUED', 'STARTED', 'RECEIVED', 'VALIDATED', 'VALIDATION_FAILED', 'SENT_ATTEMPT', 'SENT', 'FAILED', 'RETRY_SCHEDULED', 'DELIVERED',
  'BOUNCE', 'COMPLAINT', 'REJECTED', 'DLQ_MOVED', 'EXPIRED', 'CANCELLED', 'REPLAYED', 'UNKNOWN', 'RESOLVED')) not valid;

create view email_events as
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
) e(event_id, type, created_at, metadata);

-- A process of the version before, still at work while this is migrated, writes the events of its e-mails here. Refused, it could
-- not write down what a provider had already taken.
create function put_email_event() returns trigger language plpgsql as $$
begin
  insert into email_event_log (outbox_id, event_id, type, created_at, metadata)
  values (new.outbox_id, new.event_id, new.type, coalesce(new.created_at, now()), coalesce(new.metadata, '{}'));
  return new;
end $$;
create trigger put_email_event instead of insert on email_events for each row execute function put_email_event();

create or replace function ensure_email_partitions(p_day date) returns void language plpgsql as $$
declare
  parent text;
  child text;
  lower_bound uuid := uuid_v7_floor(p_day::timestamp at time zone 'UTC');
  upper_bound uuid := uuid_v7_floor((p_day + 1)::timestamp at time zone 'UTC');
begin
  perform pg_advisory_xact_lock(hashtext('ensure_email_partitions'));
  foreach parent in array array['email_outbox', 'email_recipients', 'email_content', 'email_attachments', 'email_event_log']
  loop
    child := parent || '_' || to_char(p_day, 'YYYYMMDD');
    continue when to_regclass(child) is not null;
    execute format('create table %I (like %I including defaults including constraints including storage)', child, parent);
    if parent in ('email_outbox', 'email_recipients') then
      -- Room for the heap-only updates of the e-mail's own life.
      execute format('alter table %I set (fillfactor = 60)', child);
    end if;
    execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, child, lower_bound, upper_bound);
  end loop;
end $$;
