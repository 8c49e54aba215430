-- Erasing a person (docs/privacy.md). The e-mails are listed first and then erased in batches, so that an erasure goes on after a
-- crash, and waits for e-mails that are being sent.

-- One row for each request; its id is the id of the receipt.
create table person_erasures (
  erasure_id     uuid primary key,
  -- Null: in every company.
  company_id     uuid,
  -- Keyed hashes of the identifiers that were given: whoever has an identifier finds its erasures, and nobody else learns it.
  subject_hashes text[] not null check (cardinality(subject_hashes) > 0),
  -- Keyed hashes of the addresses that were found, until it is done: a later erasure by another identifier is told of this one.
  found_hashes   text[] not null default '{}',
  requested_by   text not null check (length(requested_by) between 1 and 100),
  requested_at   timestamptz not null default now(),
  state          text not null default 'searching' check (state in ('searching', 'erasing', 'done')),
  -- What is searched for. Personal data, so it is deleted when everything is listed.
  addresses      text[],
  recipient_ids  uuid[],
  -- What was erased so far, by kind.
  counts         jsonb not null default '{}',
  -- Recipient records that e-mails to the person belong to, and that have another address now.
  records_kept   int not null default 0,
  finished_at    timestamptz,
  check ((state = 'searching') = (addresses is not null and recipient_ids is not null)),
  check ((state = 'done') = (finished_at is not null))
);
create index person_erasures_open on person_erasures (requested_at) where state <> 'done';

-- The e-mails that an erasure has still to erase.
create table person_erasure_emails (
  erasure_id uuid not null references person_erasures,
  outbox_id  uuid not null,
  -- Which of its recipients are this person.
  ordinals   smallint[] not null,
  -- It waits for other recipients, and this person was taken off it.
  taken_off  boolean not null default false,
  primary key (erasure_id, outbox_id)
);

-- `Name <address>` from SQL, which no worker sends: an erasure finds it by the address. No valid address ends in a bracket.
create index email_recipients_bracketed on email_recipients (lower(btrim(substring(address from '<([^<>]*)>$')) collate "C"))
  where address like '%>';

-- The few provider events that keep their content: an erasure searches it for addresses.
create index provider_events_kept on provider_events (received_at) where state in ('unmatched', 'unreadable');
