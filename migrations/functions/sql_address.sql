-- The address that an e-mail from SQL is sent to, and its hash, as addresses.ts and hashing.ts in src/platform/text make them; a test
-- compares the two. Whether it is an address at all is found out by the worker.

-- RFC 3492, for one label.
create or replace function punycode(p_label text) returns text language plpgsql immutable as $$
declare
  codes int[] := array(select ascii(c) from string_to_table(p_label, null) c);
  basic text := regexp_replace(p_label, '[^\x01-\x7f]', '', 'g');
  output text := case when basic = '' then '' else basic || '-' end;
  handled int := length(basic);
  next_code int := 128;
  delta bigint := 0;
  bias int := 72;
  code int;
  least_code int;
  q bigint;
  k int;
  t int;
begin
  while handled < cardinality(codes) loop
    select min(c) into least_code from unnest(codes) c where c >= next_code;
    delta := delta + (least_code - next_code)::bigint * (handled + 1);
    next_code := least_code;
    foreach code in array codes loop
      delta := delta + (code < next_code)::int;
      continue when code <> next_code;
      q := delta;
      k := 36;
      loop
        t := least(greatest(k - bias, 1), 26);
        exit when q < t;
        output := output || substr('abcdefghijklmnopqrstuvwxyz0123456789', (t + (q - t) % (36 - t))::int + 1, 1);
        q := (q - t) / (36 - t);
        k := k + 36;
      end loop;
      output := output || substr('abcdefghijklmnopqrstuvwxyz0123456789', q::int + 1, 1);
      -- Adapt the bias.
      delta := case when handled = length(basic) then delta / 700 else delta / 2 end;
      handled := handled + 1;
      delta := delta + delta / handled;
      k := 0;
      while delta > 455 loop
        delta := delta / 35;
        k := k + 36;
      end loop;
      bias := k + (36 * delta / (delta + 38))::int;
      delta := 0;
    end loop;
    delta := delta + 1;
    next_code := next_code + 1;
  end loop;
  return 'xn--' || output;
end $$;

-- A domain outside ASCII as it is written on an envelope. Lower case by ICU's rules: with the locale C, lower() knows ASCII only.
create or replace function ascii_domain(p_domain text) returns text language plpgsql stable as $$
declare
  lower_case text := translate(normalize(p_domain, NFKC), '。', '.');
begin
  if exists (select from pg_collation where collname = 'und-x-icu') then
    execute 'select lower($1 collate "und-x-icu")' into lower_case using lower_case;
  end if;
  lower_case := normalize(lower(lower_case), NFC);
  return (select string_agg(case when label ~ '^[\x01-\x7f]*$' then label else punycode(label) end, '.' order by nth)
    from string_to_table(lower_case, '.') with ordinality as t(label, nth));
end $$;

-- The spelling of the local part stays, the domain becomes lower-case ASCII. No valid address is longer than the bound.
create or replace function envelope_address(p_address text) returns text language plpgsql stable as $$
declare
  trimmed text := left(btrim(p_address, ' '), 400);
  domain text := substring(trimmed from '@([^@]*)$');
begin
  return left(trimmed, length(trimmed) - length(coalesce(domain, ''))) || case
    when domain ~ '[^\x01-\x7f]' and octet_length(domain) <= 1000 then ascii_domain(domain)
    else lower(coalesce(domain, '') collate "C") end;
end $$;

create or replace function address_hash(p_address text) returns text language sql immutable as $$
  select 'sha256:' || encode(sha256(convert_to(lower(p_address collate "C"), 'UTF8')), 'hex')
$$;

create or replace function address_key(p_hash text) returns bigint language sql immutable as $$
  select ('x' || substr(p_hash, 8, 16))::bit(64)::bigint
$$;

revoke execute on function punycode(text), ascii_domain(text), envelope_address(text), address_hash(text), address_key(text) from public;
