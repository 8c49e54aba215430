-- Roles of administrators, their sessions in the admin UI, and links that sign in once (docs/admin.md).

alter table administrators add column role text not null default 'administrator'
  check (role in ('viewer', 'support', 'administrator'));

-- The cookie holds the id and a secret; only the secret's hash is stored. Ended sessions are deleted.
create table admin_sessions (
  session_id    uuid primary key,
  secret_hash   bytea not null check (length(secret_hash) = 32),
  administrator text not null references administrators on delete cascade,
  signed_in_at  timestamptz not null default now(),
  -- Written at most once a minute.
  last_seen_at  timestamptz not null default now(),
  -- Whatever happens in between.
  expires_at    timestamptz not null,
  address       text not null check (length(address) <= 64),
  user_agent    text not null check (length(user_agent) <= 300)
);
create index admin_sessions_administrator on admin_sessions (administrator, signed_in_at);

create table admin_sign_in_links (
  link_id       uuid primary key,
  secret_hash   bytea not null check (length(secret_hash) = 32),
  administrator text not null references administrators on delete cascade,
  expires_at    timestamptz not null
);
create index admin_sign_in_links_administrator on admin_sign_in_links (administrator);

-- The audit log and the one of the suppression list are read as one list: newest first, whole or by who, what or whose.
create index audit_log_performed_at on audit_log (performed_at, id);
create index audit_log_performed_by on audit_log (performed_by, performed_at, id);
create index audit_log_action on audit_log (action, performed_at, id);
create index audit_log_subject_type on audit_log (subject_type, performed_at, id);
create index audit_log_company_time on audit_log (company_id, performed_at, id) where company_id is not null;
drop index suppression_audit_log_performed_at;
create index suppression_audit_log_performed_at on suppression_audit_log (performed_at, id);
create index suppression_audit_log_performed_by on suppression_audit_log (performed_by, performed_at, id);
create index suppression_audit_log_action on suppression_audit_log (action, performed_at, id);
create index suppression_audit_log_company on suppression_audit_log (company_id, performed_at, id) where company_id is not null;
