-- What the search of the capture inbox looks at, apart from the message, which may be large.
alter table capture_inbox add column search_text text generated always as (lower(
  coalesce(message ->> 'subject', '') || ' ' || coalesce(message ->> 'to', '') || ' ' || coalesce(message ->> 'cc', '') || ' '
  || coalesce(message ->> 'bcc', ''))) stored;

drop index capture_inbox_newest;
create index capture_inbox_newest on capture_inbox (captured_at desc, message_id desc);
