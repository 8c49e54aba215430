-- What happened to the live e-mails of each company, by time: in one table instead of company_statistics, minute_statistics,
-- template_statistics and company_reputation. Three writers: roll_up_statistics() counts the events of the log a minute late, so that no
-- settlement waits for a shared row and no crash loses a count; API processes add requests and suppressed every second, which leave no
-- event; workers and feedback add to the reputation at once, because it decides about pauses.
create table statistics (
  company_id    uuid not null,
  -- '': all e-mails of the company. Others have what the roll-up counts by the hour of the event.
  template_type text not null default '',
  -- Minutes are kept for two hours, hours for ever.
  step          text not null check (step in ('minute', 'hour')),
  at            timestamptz not null,
  requests      bigint not null default 0,
  suppressed    bigint not null default 0,
  -- Events. delivered, bounced and complained count recipients.
  accepted      bigint not null default 0,
  sent          bigint not null default 0,
  delivered     bigint not null default 0,
  bounced       bigint not null default 0,
  complained    bigint not null default 0,
  rejected      bigint not null default 0,
  failed        bigint not null default 0,
  expired       bigint not null default 0,
  dead_letters  bigint not null default 0,
  retries       bigint not null default 0,
  -- What the e-mails came to that were accepted in this hour, each counted once and as it stands now. recovered and not_recovered:
  -- of those whose first attempt failed. delivery_seconds: from the due time of the delivered ones, added up.
  finally_delivered bigint not null default 0,
  finally_failed    bigint not null default 0,
  recovered         bigint not null default 0,
  not_recovered     bigint not null default 0,
  delivery_seconds  double precision not null default 0,
  -- Recipients since the company was last resumed: sent to, bounced for good, complained.
  reputation_sent       bigint not null default 0,
  reputation_bounced    bigint not null default 0,
  reputation_complained bigint not null default 0,
  primary key (company_id, template_type, step, at)
);
create index statistics_companies on statistics (step, at) where template_type = '';
create index statistics_templates on statistics (at) where template_type <> '';

insert into statistics (company_id, step, at, requests, suppressed, accepted, sent, delivered, bounced, complained, rejected, failed, expired,
  finally_delivered, finally_failed, recovered, not_recovered, delivery_seconds, reputation_sent, reputation_bounced, reputation_complained)
select company_id, 'hour', hour, coalesce(s.requests, 0), coalesce(s.suppressed, 0), coalesce(s.accepted, 0), coalesce(s.sent, 0),
  coalesce(s.delivered, 0), coalesce(s.bounced, 0), coalesce(s.complained, 0), coalesce(s.rejected, 0), coalesce(s.failed, 0),
  coalesce(s.expired, 0), coalesce(s.finally_delivered, 0), coalesce(s.finally_failed, 0), coalesce(s.recovered, 0),
  coalesce(s.not_recovered, 0), coalesce(s.delivery_seconds, 0), coalesce(r.sent, 0), coalesce(r.bounced, 0), coalesce(r.complained, 0)
from company_statistics s full join company_reputation r using (company_id, hour);

insert into statistics (company_id, step, at, accepted, sent, delivered, bounced, complained, rejected, failed, expired)
select company_id, 'minute', minute, accepted, sent, delivered, bounced, complained, rejected, failed, expired from minute_statistics;

-- Until now, dead letters and expired e-mails of a template were one figure.
insert into statistics (company_id, template_type, step, at, accepted, sent, dead_letters, retries)
select company_id, type, 'hour', hour, accepted, sent, failed, retries from template_statistics;

-- Totals of companies are counters like all others.
insert into counters (name, label, value)
select 'tenant_jobs_processed', company_id::text, processed from company_totals where processed > 0
union all
select 'dlq_by_company', company_id::text, dead_letters from company_totals where dead_letters > 0
union all
select 'email_send_requests', company_id || ' false', requests - suppressed from send_requests_total
union all
select 'email_send_requests', company_id || ' true', suppressed from send_requests_total;

drop table company_statistics, minute_statistics, template_statistics, company_reputation, company_totals, send_requests_total;

-- Hours are kept, and so this task is gone.
delete from housekeeping_runs where task = 'purge-reputation';

drop function if exists roll_up_counts(timestamptz, timestamptz);
drop function if exists roll_up_outcomes(timestamptz, timestamptz);
drop function if exists roll_up_template_statistics(timestamptz, timestamptz);
drop function if exists counted_events(timestamptz, timestamptz);
drop function if exists attempt_label(text);
