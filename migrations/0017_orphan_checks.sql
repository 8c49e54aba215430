-- Which days of e-mails were searched for orphaned ones (unfinished, and in no table that would bring them on), by any process.
-- unfinished: how many e-mails of that day had not ended; null: the search was not finished.
create table orphan_checks (
  day        date primary key,
  checked_at timestamptz not null default now(),
  unfinished integer
);
