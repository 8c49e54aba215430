-- The retry policies of src/settings/retry.ts; a test compares the two.
create or replace function retry_policy_attempts(p_policy text) returns int language sql immutable as $$
  select case p_policy when 'patient' then 4 when 'persistent' then 48 else 5 end
$$;

create or replace function retry_policy_delays(p_policy text) returns int[] language sql immutable as $$
  select case p_policy when 'exponential' then array[1, 2, 4, 8, 16, 32, 60] when 'patient' then array[60, 300, 900]
    when 'persistent' then array[60, 300, 900, 1800, 3600] else array[1, 5, 30, 120, 600] end
$$;

-- p_random: from 0 to 1, for the jitter of a quarter in both directions.
create or replace function retry_delay_ms(p_policy text, p_failed int, p_random float8) returns int language sql immutable as $$
  select round(delays[least(greatest(p_failed, 1), cardinality(delays))] * 1000 * (0.75 + p_random / 2))::int
  from retry_policy_delays(p_policy) as delays
$$;

-- Arguments that no row could hold. Everything else becomes an e-mail, which the worker refuses if it cannot be sent: the
-- transaction of the caller must not fail because of one address.
create or replace function refuse_impossible_email(p_template_type text, p_recipient_email text, p_payload jsonb) returns void language plpgsql as $$
begin
  if p_template_type is null or p_recipient_email is null then
    raise null_value_not_allowed using message = format('%s must not be null',
      case when p_recipient_email is null then 'recipient_email' else 'template_type' end);
  elsif length(p_template_type) not between 1 and 100 then
    raise invalid_parameter_value using message = 'template_type must have 1 to 100 characters';
  elsif jsonb_typeof(p_payload) <> 'object' then
    raise invalid_parameter_value using message = format('payload must be a JSON object, not %s', jsonb_typeof(p_payload));
  -- As text, which is what workers read: a number such as 1e131071 takes a few bytes here, and 131 072 digits there.
  elsif octet_length(p_payload::text) > 1000000 then
    raise invalid_parameter_value using message = 'payload is larger than 1 MB';
  end if;
end $$;

-- Writes one e-mail with all its parts. Takes no lock that another e-mail could wait for: the transaction may stay open for long.
-- clock_timestamp(), not now(): the e-mails of one transaction keep their order.
create or replace function put_sql_email(
  p_company uuid, p_test boolean, p_user_id uuid, p_template_type text, p_recipient_email text, p_payload jsonb)
returns uuid language plpgsql as $$
declare
  instant timestamptz := clock_timestamp();
  id uuid := uuid_v7_at(instant);
  day date := (instant at time zone 'UTC')::date;
  address text := envelope_address(p_recipient_email);
  hash text := address_hash(address);
  policy text;
begin
  perform refuse_impossible_email(p_template_type, p_recipient_email, p_payload);
  if to_regclass('email_outbox_' || to_char(day, 'YYYYMMDD')) is null then
    perform ensure_email_partitions(day);
  end if;
  select coalesce(retry_policy, 'patient') into policy from companies where company_id = p_company;
  insert into email_outbox (outbox_id, company_id, request_id, user_id, test, template_type, priority, retry_policy, on_unknown,
    max_attempts, created_at, expires_at)
  values (id, p_company, 'sql-' || pg_current_xact_id(), p_user_id, p_test, p_template_type, 5, policy, 'resend',
    retry_policy_attempts(policy), instant, instant + interval '24 hours');
  insert into email_recipients (outbox_id, ordinal, kind, address, address_key) values (id, 0, 'to', address, address_key(hash));
  insert into email_content (outbox_id, variables) values (id, coalesce(p_payload, '{}'));
  insert into email_events (outbox_id, company_id, type, created_at, metadata)
  values (id, p_company, 'QUEUED', instant, jsonb_build_object('queuedAt', to_char(instant at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'recipientHash', hash, 'priority', 5, 'templateType', p_template_type, 'via', 'sql'));
  insert into email_ready (company_id, priority, outbox_id) values (p_company, 5, id);
  -- Statistics wait for this transaction (open_sql_emails_since). Only tried: whoever has an account may hold that lock, and would hold up
  -- everybody's e-mails.
  perform pg_try_advisory_xact_lock_shared(7305002, floor(extract(epoch from now()) / 60)::int);
  -- Delivered once for the whole transaction, when it commits.
  perform pg_notify('email_ready', '');
  return id;
end $$;

create or replace function enqueue_email(p_user_id uuid, p_template_type text, p_recipient_email text, p_payload jsonb)
returns uuid language sql security definer set search_path = public, pg_temp as $$
  select put_sql_email(sql_company(), false, p_user_id, p_template_type, p_recipient_email, p_payload)
$$;

revoke execute on function retry_policy_attempts(text), retry_policy_delays(text), retry_delay_ms(text, int, float8), refuse_impossible_email(text, text, jsonb),
  put_sql_email(uuid, boolean, uuid, text, text, jsonb), enqueue_email(uuid, text, text, jsonb) from public;

-- The former name of refuse_impossible_email. Here and not in a migration: until this file is applied, put_sql_email calls it.
drop function if exists refuse_absurd_email(text, text, jsonb);
