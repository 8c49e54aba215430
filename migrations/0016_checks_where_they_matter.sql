-- A table's check is read, compiled and asked for every row by each statement that writes to it, also about columns that it leaves
-- alone; a domain's only where the column is written. All rows kept the rules of the table, so none is looked at again.
create domain email_status as text;
create domain email_priority as smallint;
create domain email_retry_policy as text;
create domain email_on_unknown as text;
create domain email_max_attempts as smallint;

alter table email_outbox
  drop constraint email_outbox_status_check, drop constraint email_outbox_priority_check, drop constraint email_outbox_retry_policy_check,
  drop constraint email_outbox_on_unknown_check, drop constraint email_outbox_max_attempts_check, drop constraint worked_on_under_a_lease;
alter table email_outbox
  alter column status type email_status, alter column priority type email_priority, alter column retry_policy type email_retry_policy,
  alter column on_unknown type email_on_unknown, alter column max_attempts type email_max_attempts;
alter table email_outbox
  add constraint worked_on_under_a_lease check ((status = 'PROCESSING') = (lease_id is not null)) not valid;

alter domain email_status add constraint known_status check (value in ('PENDING', 'PROCESSING', 'SENT', 'DELIVERED', 'RETRY_SCHEDULED',
  'UNKNOWN', 'BOUNCED', 'COMPLAINED', 'REJECTED', 'FAILED', 'DLQ', 'EXPIRED', 'CANCELLED')) not valid;
alter domain email_priority add constraint known_priority check (value between 1 and 10) not valid;
alter domain email_retry_policy add constraint known_policy check (value in ('steps', 'exponential', 'patient')) not valid;
alter domain email_on_unknown add constraint known_decision check (value in ('resend', 'hold')) not valid;
alter domain email_max_attempts add constraint countable check (value between 1 and 20) not valid;
