-- Topics of Amazon SNS that `email-gateway ses setup` has connected. Messages of these and of SNS_TOPIC_ARNS are accepted.
create table sns_topics (
  topic_arn  text primary key check (length(topic_arn) <= 300),
  created_at timestamptz not null default now()
);

-- Sender domains that were added with `domain add` or through the Resend-compatible API. A verified one is also in
-- companies.from_domains, which is what sending looks at.
create table domains (
  domain_id       uuid primary key,
  company_id      uuid not null references companies on delete cascade,
  domain          text not null check (domain = lower(domain) and length(domain) <= 253),
  -- The company shows by a TXT record with it that the domain is its own; null: an administrator added the domain.
  ownership_token text,
  -- Providers at which the gateway has created the domain: those are removed with it.
  created_at_providers text[] not null default '{}',
  verified_at     timestamptz,
  created_at      timestamptz not null default now(),
  unique (company_id, domain)
);
-- Several companies may claim a domain; one of them gets it.
create index domains_by_name on domains (domain);
