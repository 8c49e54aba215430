-- E-mails and everything that brings them on their way. The tables of an e-mail are partitioned by day through its id, a UUID of
-- version 7 that begins with the time: dropping a day is dropping a partition (functions/ensure_email_partitions.sql makes them).

create table email_outbox (
  outbox_id       uuid primary key,
  company_id      uuid not null,
  status          text not null default 'PENDING' check (status in (
                    'PENDING', 'PROCESSING', 'SENT', 'DELIVERED', 'RETRY_SCHEDULED', 'UNKNOWN', 'BOUNCED',
                    'COMPLAINED', 'REJECTED', 'FAILED', 'DLQ', 'EXPIRED', 'CANCELLED')),
  request_id      text not null,
  external_id     text,
  recipient_id    uuid,
  -- Who caused it in the application, where an application says so.
  user_id         uuid,
  test            boolean not null,
  -- Null: the company's default sender when it is sent.
  from_address    text,
  subject         text,
  template_type   text,
  tags            text[] not null default '{}',
  priority        smallint not null check (priority between 1 and 10),
  -- Null: neither the company nor the request chose one.
  retry_policy    text check (retry_policy in ('steps', 'exponential', 'patient', 'persistent')),
  on_unknown      text not null check (on_unknown in ('resend', 'hold')),
  attempts        smallint not null default 0 check (attempts >= 0),
  max_attempts    smallint not null check (max_attempts between 1 and 100),
  created_at      timestamptz not null default now(),
  scheduled_at    timestamptz,
  next_attempt_at timestamptz,
  expires_at      timestamptz not null,
  lease_id        uuid,
  attempt_id      uuid,
  -- When the last attempt started. On a waiting e-mail: that attempt goes on at its provider, which recognises it.
  started_at      timestamptz,
  provider        text,
  message_id      text,
  error_code      text,
  -- What the provider called the error.
  provider_code   text,
  error_category  text,
  failure_reason  text,
  duration_ms     integer,
  sent_at         timestamptz,
  delivered_at    timestamptz,
  bounced_at      timestamptz,
  bounce_type     text,
  complained_at   timestamptz,
  failed_at       timestamptz,
  -- The e-mail that this one sends again.
  resend_of       uuid,
  -- When a recipient was erased: events that arrive later are stored without personal data.
  erased_at       timestamptz,
  constraint worked_on_under_a_lease check ((status = 'PROCESSING') = (lease_id is not null)),
  constraint sent_has_a_message_id check (sent_at is null or message_id is not null),
  constraint failure_has_a_reason check (failed_at is null or failure_reason is not null)
) partition by range (outbox_id);
create index email_outbox_company on email_outbox (company_id, outbox_id);
-- The list of a test key: among millions of live e-mails there may be none of its own.
create index email_outbox_test on email_outbox (company_id, outbox_id) where test;
create index email_outbox_external on email_outbox (company_id, external_id) where external_id is not null;
create index email_outbox_recipient on email_outbox (recipient_id) where recipient_id is not null;
create index email_outbox_resend on email_outbox (resend_of) where resend_of is not null;

create table email_recipients (
  outbox_id    uuid not null,
  ordinal      smallint not null,
  kind         text not null check (kind in ('to', 'cc', 'bcc')),
  address      text,
  display_name text,
  -- First eight bytes of the address hash: a small search key, not an identity.
  address_key  bigint,
  status       text not null default 'PENDING',
  suppressed   boolean not null default false,
  primary key (outbox_id, ordinal)
) partition by range (outbox_id);
create index email_recipients_address on email_recipients (address_key);

create table email_content (
  outbox_id  uuid primary key,
  html       text,
  -- Says that the HTML passed the rules when it was accepted.
  html_proof text,
  text       text,
  reply_to   text[],
  headers    jsonb,
  variables  jsonb
) partition by range (outbox_id);

create table email_attachments (
  outbox_id    uuid not null,
  ordinal      smallint not null,
  filename     text not null,
  content_type text not null,
  content_id   text,
  content      bytea not null,
  primary key (outbox_id, ordinal)
) partition by range (outbox_id);

-- Appended by the statement or the transaction that changes the e-mail's state, and never changed.
create table email_events (
  outbox_id  uuid not null,
  event_id   uuid not null default gen_random_uuid(),
  company_id uuid not null,
  type       text not null check (type in (
               'QUEUED', 'RECEIVED', 'VALIDATED', 'VALIDATION_FAILED', 'SENT_ATTEMPT', 'SENT', 'FAILED',
               'RETRY_SCHEDULED', 'DELIVERED', 'BOUNCE', 'COMPLAINT', 'REJECTED', 'DLQ_MOVED', 'EXPIRED',
               'CANCELLED', 'REPLAYED', 'UNKNOWN', 'RESOLVED')),
  created_at timestamptz not null default now(),
  metadata   jsonb not null default '{}',
  primary key (outbox_id, event_id)
) partition by range (outbox_id);
-- Look-ups by message id. On the log, because an index on email_outbox.message_id would make every settlement rewrite the row's
-- other index entries.
create index email_events_message on email_events ((metadata ->> 'messageId')) where type = 'SENT';

-- Rows lie in the order of their times: a block range index finds those of the last minute and costs next to nothing to write.
create index email_events_time on email_events using brin (created_at) with (pages_per_range = 32, autosummarize = on);

create table idempotency_keys (
  company_id  uuid not null,
  key         text not null check (length(key) between 1 and 256),
  fingerprint bytea not null,
  answer      jsonb not null,
  expires_at  timestamptz not null,
  primary key (company_id, key)
);
create index idempotency_keys_expiry on idempotency_keys (expires_at);

-- What may be sent now. Narrow: its size is the backlog's, never the outbox's.
create table email_ready (
  company_id uuid not null,
  priority   smallint not null,
  outbox_id  uuid not null,
  primary key (company_id, priority, outbox_id)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- Scheduled and retrying mail, until it is due.
create table email_scheduled (
  due_at     timestamptz not null,
  outbox_id  uuid not null,
  company_id uuid not null,
  priority   smallint not null,
  primary key (due_at, outbox_id)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- One lease for each claimed batch. work: a process works on it. dispatch: it is on the BullMQ queue.
create table leases (
  lease_id   uuid primary key,
  kind       text not null check (kind in ('work', 'dispatch')),
  holder     text not null,
  outbox_ids uuid[] not null,
  taken_at   timestamptz not null default now(),
  expires_at timestamptz not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);

-- Where the fair order stands: the company served last, and how many of its e-mails in a row.
create table fair_cursor (
  only_row   boolean primary key default true check (only_row),
  company_id uuid not null default '00000000-0000-0000-0000-000000000000',
  run        int not null default 0
);
insert into fair_cursor default values;

-- Stays empty: a claim locks it, so that there is one at a time. An advisory lock could be held by anybody who may connect.
create table claim_lock ();

-- Up to when the send rate of a company with a limit is used up.
create table company_flow (
  company_id  uuid primary key references companies on delete cascade,
  sendable_at timestamptz not null
);

create table unknown_sends (
  outbox_id  uuid primary key,
  attempt_id uuid not null,
  provider   text not null,
  reason     text not null,
  since      timestamptz not null default now(),
  resolve_at timestamptz not null
);
create index unknown_sends_due on unknown_sends (resolve_at);

create table dead_letters (
  outbox_id           uuid primary key,
  company_id          uuid not null,
  failed_attempts     smallint not null check (failed_attempts >= 1),
  last_failure_reason text not null check (last_failure_reason ~ '\S'),
  last_failure_code   text,
  provider_code       text,
  last_failure_at     timestamptz not null,
  retry_history       jsonb not null,
  -- Null: the payload was purged, and the e-mail cannot be replayed any more.
  original_data       jsonb,
  enqueued_at         timestamptz not null,
  moved_at            timestamptz not null default now()
);
-- Metadata is kept for ever, so lists must not read all of it.
create index dead_letters_moved on dead_letters (moved_at, outbox_id);
create index dead_letters_payload on dead_letters (moved_at, outbox_id) where original_data is not null;

-- The inbox of the capture provider: nothing leaves the machine.
create table capture_inbox (
  message_id  text primary key,
  attempt_id  uuid not null unique,
  outbox_id   uuid not null,
  company_id  uuid not null,
  captured_at timestamptz not null default now(),
  message     jsonb not null
);
create index capture_inbox_newest on capture_inbox (captured_at desc);

-- Which days were searched for orphaned e-mails (unfinished, and in no table that would bring them on), by any process.
-- unfinished: how many e-mails of that day had not ended; null: the search was not finished.
create table orphan_checks (
  day        date primary key,
  checked_at timestamptz not null default now(),
  unfinished integer
);
