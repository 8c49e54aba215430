-- The events between two times that statistics count, with what they need of their e-mails. Those of test keys are not counted.
create or replace function counted_events(p_from timestamptz, p_until timestamptz)
returns table (outbox_id uuid, company_id uuid, type text, created_at timestamptz, metadata jsonb, accepted_at timestamptz, due_at timestamptz)
language sql stable as $$
  select e.outbox_id, e.company_id, e.type, e.created_at, e.metadata, o.created_at, greatest(o.created_at, o.scheduled_at)
  from email_events e join email_outbox o on o.outbox_id = e.outbox_id and not o.test
  where e.created_at >= p_from and e.created_at < p_until and e.type in ('QUEUED', 'SENT', 'DELIVERED', 'BOUNCE', 'COMPLAINT',
    'REJECTED', 'FAILED', 'DLQ_MOVED', 'EXPIRED', 'CANCELLED', 'REPLAYED', 'RETRY_SCHEDULED', 'UNKNOWN', 'VALIDATION_FAILED')
$$;

-- Whether an event says that an attempt failed: not one that was put off without spending an attempt.
create or replace function is_failed_attempt(p_type text, p_metadata jsonb) returns boolean language sql immutable as $$
  select p_type = 'RETRY_SCHEDULED' and not p_metadata ?| array['throttled', 'unconnected', 'parked']
$$;

revoke execute on function counted_events, is_failed_attempt from public;
