import { blocks } from '../suppression/list.ts'

/**
 * One statement, one commit for all requests; `i` numbers the e-mails of the batch, `u` its requests. Reading order = order of the
 * steps: what came in → suppression and recipients → result per e-mail → idempotency keys → rows.
 * `full` adds idempotency keys, recipient records, attachments and the rare fields. Most batches contain none of them, and to plan
 * nodes for nothing costs a third of the statement.
 * Keys and recipient records are written in a fixed order, so that two processes cannot deadlock.
 * The list is looked up by the search key: its index is a third as large as that of the hashes.
 * The look-ups are lateral with a limit: as joins, a plan made while the tables were small reads all of them.
 */
export function acceptStatement(full: boolean): string {
  const when = (sql: string) => (full ? sql : '')
  return `
with clock as materialized (
  select to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as instant
), input as materialized (
  select * from json_to_recordset($1::json) as x(
    i int, u int, n int, strict boolean, id uuid, event_id uuid, company uuid, request text, external text, test boolean, sender text,
    subject text, tags text, priority smallint, policy text, unknown text, max smallint, html text, proof text, body text, to_hash text, trace text)
), ${when(EXTRAS)} addresses as materialized (
  select * from json_to_recordset($2::json) as x(
    i int, company uuid, test boolean, ordinal smallint, kind text, address text, name text, key bigint, hash text)
), blocked as materialized (
  select a.i, a.ordinal, a.hash from addresses a cross join lateral (
    select from suppression_list s
    where s.hash_key = a.key and s.email_hash = a.hash and ${blocks('s', 'a.company')}
    limit 1) listed
  -- Test e-mails ignore the suppression list, which is live data.
  where a.test is not true
), all_to_suppressed as (
  select a.i from addresses a left join blocked b on b.i = a.i and b.ordinal = a.ordinal
  where a.kind = 'to' group by a.i having count(*) = count(b.i)
), ${when(RECIPIENT_RECORDS)} results as materialized (
  select e.i, e.u, e.n, e.id, e.strict, case
    when e.i in (select i from all_to_suppressed) then 'SUPPRESSED'
    ${when(`when e.i in (select i from unknown_recipients) then 'RECIPIENT_NOT_FOUND'`)}
    else 'ACCEPTED' end as status,
    case when e.i in (select i from blocked) then (select json_agg(b.hash order by b.ordinal) from blocked b where b.i = e.i) end as suppressed
  from input e
), ${when(REPLAYED)} refused_requests as (
  select u from results where strict and status <> 'ACCEPTED' ${when('and u not in (select u from replayed)')}
), ${when(STORED_KEYS)} accepted as materialized (
  select e.*, r.suppressed, ${
    full
      ? `x.template, x.template_version, x.reply_to, x.headers, x.variables, x.resend_of,
    coalesce(x.scheduled, now() + x.delay_ms * interval '1 millisecond')`
      : 'null::timestamptz'
  } as due
  from input e join results r using (i) ${when('left join extras x using (i)')}
  where r.status = 'ACCEPTED' and e.u not in (select u from refused_requests) ${when('and e.u not in (select u from keys_in_use)')}
), ${when(STORED_RECIPIENTS)} put_outbox as (
  insert into email_outbox (outbox_id, company_id, request_id, external_id, recipient_id, test, from_address, subject,
    template_type, tags, priority, retry_policy, on_unknown, max_attempts, scheduled_at, next_attempt_at, expires_at, traceparent${when(', resend_of')})
  select a.id, a.company, a.request, a.external, ${full ? 'coalesce(stored.recipient_id, p.id)' : 'null'}, a.test, a.sender, a.subject,
    ${full ? 'a.template' : 'null'}, string_to_array(a.tags, E'\\x1f'), a.priority, a.policy, a.unknown, a.max, a.due, case when a.due > now() then a.due end, greatest(a.due, now()) + interval '24 hours', a.trace${when(', a.resend_of')}
  from accepted a ${when(`left join recipient_records p using (i)
     left join stored_recipients stored on stored.company_id = p.company and stored.identity = p.identity and not p.must_exist`)}
), put_recipients as (
  insert into email_recipients (outbox_id, ordinal, kind, address, display_name, address_key, status, suppressed)
  select a.id, d.ordinal, d.kind, d.address, d.name, d.key, case when b.i is null then 'PENDING' else 'REJECTED' end, b.i is not null
  from accepted a join addresses d using (i) left join blocked b on b.i = d.i and b.ordinal = d.ordinal
), put_content as (
  insert into email_content (outbox_id, html, html_proof, text${when(', reply_to, headers, variables')})
  select id, html, proof, body${when(', reply_to, headers, variables')} from accepted
), ${when(ATTACHMENTS)} put_events as (
  insert into email_events (outbox_id, event_id, company_id, type, metadata)
  select id, event_id, company, 'QUEUED', jsonb_strip_nulls(jsonb_build_object('queuedAt', (select instant from clock), 'recipientHash', to_hash,
    'priority', priority, 'externalId', external, 'suppressed', suppressed${when(", 'templateType', template, 'templateVersion', template_version")}))
  from accepted
), ${when(SCHEDULED)} put_ready as (
  insert into email_ready (company_id, priority, outbox_id)
  select company, priority, id from accepted ${when('where due is null or due <= now()')}
)
select r.i, r.suppressed, (select instant from clock) as "queuedAt", ${
    full
      ? `case when r.u in (select u from keys_in_use) and r.u not in (select u from refused_requests) then 'KEY_TAKEN' else r.status end`
      : 'r.status'
  } as status
from results r order by r.i`
}

/** The fields that few e-mails have. */
const EXTRAS = `extras as materialized (
  select * from json_to_recordset($6::json) as x(
    i int, template text, template_version int, delay_ms double precision, scheduled timestamptz, reply_to text[], headers jsonb,
    variables jsonb, resend_of uuid)
),`

const RECIPIENT_RECORDS = `recipient_records as materialized (
  select * from json_to_recordset($3::json) as x(
    i int, id uuid, must_exist boolean, company uuid, identity text, external text, doc_hash text, doc_cipher text,
    razao_social text, nome text, email text)
), unknown_recipients as (
  select p.i from recipient_records p
  where p.must_exist and not coalesce((
    select r.company_id = p.company and r.email = p.email and r.deleted_at is null
      and starts_with(r.identity, 'test:') = starts_with(p.identity, 'test:') from recipients r where r.recipient_id = p.id), false)
),`

const STORED_RECIPIENTS = `stored_recipients as (
  insert into recipients as r (recipient_id, company_id, identity, external_id, cpf_cnpj_hash, cpf_cnpj_cipher,
    razao_social, nome, email)
  select distinct on (p.company, p.identity) p.id, p.company, p.identity, p.external, p.doc_hash,
    decode(p.doc_cipher, 'base64'), p.razao_social, p.nome, p.email
  from recipient_records p join accepted a using (i) where not p.must_exist
  order by p.company, p.identity, p.i desc
  on conflict (company_id, identity) do update set
    external_id = coalesce(excluded.external_id, r.external_id), cpf_cnpj_hash = coalesce(excluded.cpf_cnpj_hash, r.cpf_cnpj_hash),
    cpf_cnpj_cipher = coalesce(excluded.cpf_cnpj_cipher, r.cpf_cnpj_cipher),
    razao_social = coalesce(excluded.razao_social, r.razao_social), nome = coalesce(excluded.nome, r.nome),
    email = excluded.email, updated_at = now(), deleted_at = null
  returning recipient_id, company_id, identity
),`

const REPLAYED = `keys as materialized (
  select * from json_to_recordset($4::json) as x(u int, company uuid, key text, fingerprint text, days int, answer jsonb)
), replayed as (
  select k.u from keys k cross join lateral (
    select from idempotency_keys known
    where known.company_id = k.company and known.key = k.key and known.expires_at > now()
    limit 1) used
),`

const STORED_KEYS = `stored_keys as (
  insert into idempotency_keys (company_id, key, fingerprint, answer, expires_at)
  select k.company, k.key, decode(k.fingerprint, 'hex'),
    k.answer || jsonb_build_object('queuedAt', (select instant from clock), 'results', v.members), now() + coalesce(k.days, 1) * interval '24 hours'
  from keys k
  join (
    select u, jsonb_agg(jsonb_build_object('index', n, 'status', status, 'outboxId', id, 'suppressed', coalesce(suppressed, '[]'))
      order by i) as members
    from results group by u) v using (u)
  where k.u not in (select u from replayed) and k.u not in (select u from refused_requests)
  order by k.company, k.key
  on conflict (company_id, key) do update
    set fingerprint = excluded.fingerprint, answer = excluded.answer, expires_at = excluded.expires_at
    where idempotency_keys.expires_at <= now()
  returning company_id, key
), keys_in_use as (
  select k.u from keys k left join stored_keys c on c.company_id = k.company and c.key = k.key where c.key is null
),`

const ATTACHMENTS = `put_attachments as (
  insert into email_attachments (outbox_id, ordinal, filename, content_type, content_id, content)
  select a.id, f.ordinal, f.filename, f.content_type, f.content_id, decode(f.base64, 'base64')
  from accepted a join json_to_recordset($5::json) as f(
    i int, ordinal smallint, filename text, content_type text, content_id text, base64 text) using (i)
),`

const SCHEDULED = `put_scheduled as (
  insert into email_scheduled (due_at, outbox_id, company_id, priority)
  select due, id, company, priority from accepted where due > now()
),`
