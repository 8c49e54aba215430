-- That an e-mail was sent wrote its facts twice, too: into its row, and into a row of the log. They stay in its row now, and the view
-- email_events tells SENT from it. Only where a company listens for it is it in the log, where its webhooks find it.

-- True: SENT is told by this row. Otherwise by the log.
alter table email_outbox add column tells_sent boolean;

-- As it was, and one part more.
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
from email_outbox o where o.received_at is not null
union all
select o.outbox_id, start_event_id(o.sent_at, o.attempt_id, 4), 'SENT', o.sent_at, jsonb_build_object('messageId', o.message_id,
  'sesMessageId', o.message_id, 'attempt', o.attempts, 'attempts', o.attempts, 'durationMs', o.duration_ms, 'processingTimeMs', o.duration_ms)
from email_outbox o where o.tells_sent;

-- What is in doubt or dead may start again, over the facts of the attempt before: they go into the log.
create or replace function log_the_start() returns trigger language plpgsql as $$
declare
  told email_outbox;
begin
  select * into told from email_outbox o where o.outbox_id = new.outbox_id and (o.received_at is not null or o.tells_sent);
  if not found then
    return null;
  end if;
  update email_outbox set received_at = null, tells_sent = null where outbox_id = new.outbox_id;
  insert into email_event_log (outbox_id, event_id, type, created_at, metadata)
  select told.outbox_id, start_event_id(at, told.attempt_id, 0), 'STARTED', at, jsonb_build_object('attempt', told.attempts,
    'requestId', told.request_id, 'provider', told.provider, 'attemptId', told.attempt_id, 'receivedAt', told.received_at)
  from (select coalesce(told.started_at, told.received_at) as at) t where told.received_at is not null
  union all
  select told.outbox_id, start_event_id(told.sent_at, told.attempt_id, 4), 'SENT', told.sent_at, jsonb_build_object(
    'messageId', told.message_id, 'attempt', told.attempts, 'durationMs', told.duration_ms)
  where told.tells_sent;
  return null;
end $$;

-- A process of the version before looks for SENT in the log only, before it writes down what a provider says about it.
create function sent_is_told() returns trigger language plpgsql as $$
begin
  if exists (select from email_outbox o where o.outbox_id = new.outbox_id and o.tells_sent) then
    return null;
  end if;
  return new;
end $$;
create trigger sent_is_told before insert on email_event_log for each row when (new.type = 'SENT') execute function sent_is_told();
