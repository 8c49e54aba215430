-- Of an hour that goes on: how many e-mails were known that were a minute old or older. New mail must not hide that some of them are gone.
alter table ledger_hours add column settled bigint not null default 0;
alter table ledger_slices add column settled_until timestamptz;

update ledger_slices set settled_until = (day + (hour + 1) * interval '1 hour') at time zone 'UTC' where final;
update ledger_hours h set settled = h.accepted from ledger_slices s where s.day = h.day and s.hour = h.hour and s.final;
