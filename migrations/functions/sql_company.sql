-- Whose e-mails a session enqueues, sees and changes. session_user decides: neither SET ROLE nor a function of the owner changes it.
-- A temporary table must not stand in for one of ours, so every function that runs with the owner's rights names pg_temp last.

-- The company of a session. Raises when the session has none.
create or replace function sql_company() returns uuid language plpgsql stable security definer
set search_path = public, pg_temp as $$
declare
  found_id uuid;
  wanted text := nullif(current_setting('email_gateway.company', true), '');
begin
  select company_id into found_id from company_roles where role_name = session_user;
  if found_id is not null then
    return found_id;
  end if;
  if not pg_has_role(session_user, current_user, 'MEMBER') then
    raise insufficient_privilege using message = format('The role %s belongs to no company', session_user),
      hint = 'Make a role with: email-gateway company sql-access NAME';
  end if;
  if wanted is not null then
    select company_id into found_id from companies where company_id::text = lower(wanted) or name = wanted;
    if found_id is null then
      raise invalid_parameter_value using message = format('There is no company "%s"', wanted),
        hint = 'Set email_gateway.company to the name or the id of a company.';
    end if;
    return found_id;
  end if;
  select company_id into found_id from companies order by is_default desc, created_at, company_id limit 1;
  if found_id is null then
    raise invalid_parameter_value using message = 'There is no company yet', hint = 'Make one with: email-gateway company create NAME';
  end if;
  return found_id;
end $$;

-- The companies whose e-mails a session sees: its own; for the owner all of them, or the one that email_gateway.company names.
create or replace function sql_companies() returns uuid[] language plpgsql stable security definer
set search_path = public, pg_temp as $$
begin
  if nullif(current_setting('email_gateway.company', true), '') is null and pg_has_role(session_user, current_user, 'MEMBER')
    and not exists (select from company_roles where role_name = session_user) then
    return array(select company_id from companies);
  end if;
  return array[sql_company()];
end $$;

revoke execute on function sql_company(), sql_companies() from public;
