-- A provider that throttles is slowed down for all workers: to this rate at this time, growing back to the one it had.
alter table providers
  add column slow_from double precision,
  add column slow_to   double precision,
  add column slowed_at timestamptz,
  add check ((slowed_at is null) = (slow_from is null) and (slowed_at is null) = (slow_to is null)),
  add check (slow_to > 0 and slow_from >= slow_to);

alter table companies
  drop constraint companies_retry_policy_check,
  add constraint companies_retry_policy_check check (retry_policy in ('steps', 'exponential', 'patient', 'persistent'));

-- Null: neither the company nor the request chose one. The rows that are there kept stricter rules, so they are not read again.
alter table email_outbox
  alter column retry_policy drop not null,
  drop constraint email_outbox_retry_policy_check,
  drop constraint email_outbox_max_attempts_check,
  add constraint email_outbox_retry_policy_check
    check (retry_policy in ('steps', 'exponential', 'patient', 'persistent')) not valid,
  add constraint email_outbox_max_attempts_check check (max_attempts between 1 and 100) not valid;
