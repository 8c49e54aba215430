-- What the admin UI reads across companies: e-mails by external id and by how they ended, and the figures of the last hour.

-- The external id first: support searches it without knowing the company.
drop index email_outbox_external;
create index email_outbox_external on email_outbox (external_id, company_id) where external_id is not null;

-- E-mails that ended badly, by their events: few, never changed, and so without cost for the others. An index on email_outbox.status
-- would make every change of state rewrite the row's other index entries.
create index email_events_ends on email_events (type, outbox_id)
  where type in ('BOUNCE', 'COMPLAINT', 'REJECTED', 'FAILED', 'DLQ_MOVED', 'EXPIRED', 'CANCELLED');

-- As company_statistics, by the minute, for two hours.
create table minute_statistics (
  company_id uuid not null,
  minute     timestamptz not null,
  accepted   bigint not null default 0,
  sent       bigint not null default 0,
  delivered  bigint not null default 0,
  bounced    bigint not null default 0,
  complained bigint not null default 0,
  rejected   bigint not null default 0,
  failed     bigint not null default 0,
  expired    bigint not null default 0,
  primary key (company_id, minute)
);
create index minute_statistics_minute on minute_statistics (minute);
