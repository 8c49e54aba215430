-- Test keys see and change test data only: webhook endpoints have a mode, as e-mails do.

alter table webhook_endpoints add column test boolean not null default false;

-- A function, so that it is asked after the company's row was locked, with what the one before us has written.
drop function webhook_endpoint_count(uuid);
create function webhook_endpoint_count(p_company uuid, p_test boolean) returns bigint language sql volatile as $$
  select count(*) from webhook_endpoints where company_id = p_company and test = p_test and disabled_reason is distinct from 'DELETED'
$$;

-- The list of a test key: among millions of live e-mails there may be none of its own.
create index email_outbox_test on email_outbox (company_id, outbox_id) where test;
