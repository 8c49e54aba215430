-- The smallest id of a moment: bounds of partitions, and of every search by time.
create or replace function uuid_v7_floor(p_at timestamptz) returns uuid language sql immutable as $$
  select (left(hex, 8) || '-' || right(hex, 4) || '-7000-8000-000000000000')::uuid
  from (select lpad(to_hex(greatest(0, extract(epoch from p_at) * 1000)::bigint), 12, '0') as hex) t
$$;

create or replace function uuid_v7_at(p_at timestamptz) returns uuid language sql volatile as $$
  select (left(hex, 8) || '-' || right(hex, 4) || '-7' || right(gen_random_uuid()::text, 21))::uuid
  from (select lpad(to_hex((extract(epoch from p_at) * 1000)::bigint), 12, '0') as hex) t
$$;

-- An id of now.
create or replace function uuid_v7_now() returns uuid language sql volatile as $$
  select (left(hex, 8) || '-' || right(hex, 4) || '-7' || right(gen_random_uuid()::text, 21))::uuid
  from (select lpad(to_hex((extract(epoch from now()) * 1000)::bigint), 12, '0') as hex) t
$$;

revoke execute on function uuid_v7_floor, uuid_v7_at, uuid_v7_now from public;
