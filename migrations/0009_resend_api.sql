-- Templates as they were written for the Resend-compatible API. Their translation is the first version in template_versions.
create table resend_templates (
  template_id  uuid primary key references templates on delete cascade,
  name         text not null check (length(name) between 1 and 100),
  -- Used when an e-mail names none.
  from_address text,
  reply_to     text[],
  subject      text not null,
  html         text not null,
  text         text,
  -- [{key, type, fallback_value}]
  variables    jsonb not null
);
