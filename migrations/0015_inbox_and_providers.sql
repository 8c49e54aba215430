-- What the search of the capture inbox looks at, apart from the message, which may be large.
alter table capture_inbox add column search_text text generated always as (lower(
  coalesce(message ->> 'subject', '') || ' ' || coalesce(message ->> 'to', '') || ' ' || coalesce(message ->> 'cc', '') || ' '
  || coalesce(message ->> 'bcc', ''))) stored;

drop index capture_inbox_newest;
create index capture_inbox_newest on capture_inbox (captured_at desc, message_id desc);

-- The failures of the last hours, by provider and code, without a look at what succeeded.
create index email_events_failures on email_events (created_at) where type in ('RETRY_SCHEDULED', 'REJECTED', 'FAILED', 'UNKNOWN');
