-- The SQL door: applications that share the database enqueue e-mails in their own transactions. Its functions and views are in
-- functions/sql_*.sql.

-- The company of e-mails that come without one: from the owner of the database, who has not chosen any.
alter table companies add column is_default boolean not null default false;
create unique index companies_default on companies (is_default) where is_default;

-- Login roles of companies. A session of such a role sees and changes what belongs to its company, and nothing else.
create table company_roles (
  role_name  name primary key,
  company_id uuid not null references companies on delete cascade,
  created_at timestamptz not null default now()
);
create index company_roles_company on company_roles (company_id);

-- The documented name of an event's type.
alter table email_events add column event_type text generated always as (type) stored;
