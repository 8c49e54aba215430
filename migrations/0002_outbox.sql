-- One row per e-mail, and everything that hangs on it, partitioned by day on the time-ordered id: retention
-- drops all five together. No foreign keys here: each would cost a lock on the company's row per e-mail, and
-- every row is written by one statement (db/accept.ts) that takes all of them from the same input.

create table email_outbox (
  outbox_id       uuid primary key,
  company_id      uuid not null,
  status          text not null default 'PENDING' check (status in (
                    'PENDING', 'PROCESSING', 'SENT', 'DELIVERED', 'RETRY_SCHEDULED', 'UNKNOWN', 'BOUNCED',
                    'COMPLAINED', 'REJECTED', 'FAILED', 'DLQ', 'EXPIRED', 'CANCELLED')),
  request_id      text not null,
  external_id     text,
  recipient_id    uuid,
  test            boolean not null,
  from_address    text not null,
  subject         text,
  template_type   text,
  tags            text[] not null default '{}',
  priority        smallint not null check (priority between 1 and 10),
  retry_policy    text not null check (retry_policy in ('steps', 'exponential', 'patient')),
  on_unknown      text not null check (on_unknown in ('resend', 'hold')),
  attempts        smallint not null default 0 check (attempts >= 0),
  max_attempts    smallint not null check (max_attempts between 1 and 20),
  created_at      timestamptz not null default now(),
  scheduled_at    timestamptz,
  next_attempt_at timestamptz,
  expires_at      timestamptz not null,
  lease_id        uuid,
  attempt_id      uuid,
  started_at      timestamptz,
  provider        text,
  message_id      text,
  error_code      text,
  error_category  text,
  failure_reason  text,
  duration_ms     integer,
  sent_at         timestamptz,
  delivered_at    timestamptz,
  bounced_at      timestamptz,
  bounce_type     text,
  complained_at   timestamptz,
  failed_at       timestamptz,
  constraint worked_on_under_a_lease check ((status = 'PROCESSING') = (lease_id is not null)),
  constraint sent_has_a_message_id check (sent_at is null or message_id is not null),
  constraint failure_has_a_reason check (failed_at is null or failure_reason is not null)
) partition by range (outbox_id);
-- Serves the company's list, newest first. Status is not indexed: it changes four times in an e-mail's life
-- and would turn every heap-only update into an index write.
create index email_outbox_company on email_outbox (company_id, outbox_id);

create table email_recipients (
  outbox_id     uuid not null,
  ordinal       smallint not null,
  kind          text not null check (kind in ('to', 'cc', 'bcc')),
  address       text,
  display_name  text,
  -- First eight bytes of the address hash: a small search key, not an identity.
  address_key   bigint,
  status        text not null default 'PENDING',
  suppressed    boolean not null default false,
  primary key (outbox_id, ordinal)
) partition by range (outbox_id);
create index email_recipients_address on email_recipients (address_key);

create table email_content (
  outbox_id uuid primary key,
  html      text,
  text      text,
  reply_to  text[],
  headers   jsonb,
  variables jsonb
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

create table email_events (
  outbox_id  uuid not null,
  event_id   uuid not null,
  type       text not null check (type in (
               'QUEUED', 'RECEIVED', 'VALIDATED', 'VALIDATION_FAILED', 'SENT_ATTEMPT', 'SENT', 'FAILED',
               'RETRY_SCHEDULED', 'DELIVERED', 'BOUNCE', 'COMPLAINT', 'REJECTED', 'DLQ_MOVED', 'EXPIRED',
               'CANCELLED', 'REPLAYED', 'UNKNOWN', 'RESOLVED')),
  created_at timestamptz not null default now(),
  metadata   jsonb not null default '{}',
  primary key (outbox_id, event_id)
) partition by range (outbox_id);

-- Creates the partitions of one UTC day. Bounds are the lowest UUID v7 of the day and of the next. Made apart and then
-- attached: CREATE … PARTITION OF would wait for every reader of the parent, and every accept would wait behind it.
create function ensure_email_partitions(p_day date) returns void language plpgsql as $$
declare
  parent text;
  child text;
  lower_bound uuid := uuid_v7_floor(p_day::timestamp at time zone 'UTC');
  upper_bound uuid := uuid_v7_floor((p_day + 1)::timestamp at time zone 'UTC');
begin
  perform pg_advisory_xact_lock(hashtext('ensure_email_partitions'));
  foreach parent in array array['email_outbox', 'email_recipients', 'email_content', 'email_attachments', 'email_events']
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

create function uuid_v7_floor(p_at timestamptz) returns uuid language sql immutable as $$
  select (left(hex, 8) || '-' || right(hex, 4) || '-7000-8000-000000000000')::uuid
  from (select lpad(to_hex(greatest(0, extract(epoch from p_at) * 1000)::bigint), 12, '0') as hex) t
$$;

-- A UUID v7 of this transaction's moment. p_place orders the events that one statement writes for one e-mail.
create function uuid_v7_now(p_place int default 0) returns uuid language sql volatile as $$
  select (left(hex, 8) || '-' || right(hex, 4) || '-7' || lpad(to_hex(p_place), 3, '0') || right(gen_random_uuid()::text, 18))::uuid
  from (select lpad(to_hex((extract(epoch from now()) * 1000)::bigint), 12, '0') as hex) t
$$;
