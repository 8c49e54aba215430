import type pg from 'pg'

/**
 * The tables of the design that the seed-style benchmarks measure: primary keys, the two foreign keys, the index that lists an e-mail's
 * events and the one that lists a company's e-mails. Every further index would slow the reference down.
 */
const TABLES = `
drop schema if exists seed cascade;
create schema seed;
create table seed.recipients (
  recipient_id uuid primary key, company_id uuid not null, external_id text, email text not null, deleted_at timestamptz);
create table seed.email_outbox (
  outbox_id uuid primary key, company_id uuid not null, recipient_id uuid references seed.recipients, request_id text not null,
  recipient text not null, subject text not null, html text, status text not null default 'PENDING',
  attempts int not null default 0, last_error text, created_at timestamptz not null default now(), processed_at timestamptz)
  with (fillfactor = 60);
create index on seed.email_outbox (company_id, created_at);
create table seed.email_logs (
  outbox_id uuid primary key references seed.email_outbox, company_id uuid not null, recipient_id uuid, recipient text not null,
  subject text not null, status text not null, ses_message_id text, error_code text, error_reason text, attempts int not null,
  duration_ms int, request_id text not null, created_at timestamptz not null default now(), sent_at timestamptz,
  failed_at timestamptz) with (fillfactor = 60);
create table seed.email_events (
  event_id uuid primary key, email_log_id uuid not null references seed.email_logs, type text not null,
  metadata jsonb not null, created_at timestamptz not null default now());
create index on seed.email_events (email_log_id)`

export async function makeSeedTables(db: pg.Pool): Promise<void> {
  await db.query(TABLES)
}

export type SeedEmail = { outboxId: string; recipientId: string; companyId: string; to: string }

const FILL_PEOPLE = `
insert into seed.recipients (recipient_id, company_id, external_id, email)
select "recipientId", "companyId", 'CUST-' || right("outboxId"::text, 5), "to"
from json_to_recordset($1) as x("outboxId" uuid, "recipientId" uuid, "companyId" uuid, "to" text)`

const FILL_OUTBOX = `
insert into seed.email_outbox (outbox_id, company_id, recipient_id, request_id, recipient, subject, html)
select "outboxId", "companyId", "recipientId", 'req-' || "outboxId", "to", $2, $3
from json_to_recordset($1) as x("outboxId" uuid, "recipientId" uuid, "companyId" uuid, "to" text)`

export async function fillSeedTables(
  db: pg.Pool,
  emails: SeedEmail[],
  { subject, html }: { subject: string; html: string },
): Promise<void> {
  const rows = JSON.stringify(emails)
  await db.query(FILL_PEOPLE, [rows])
  await db.query(FILL_OUTBOX, [rows, subject, html])
  await db.query('vacuum analyze seed.recipients, seed.email_outbox, seed.email_logs, seed.email_events')
  // What the filling left to write must not be written while the work is measured.
  await db.query('checkpoint')
}
