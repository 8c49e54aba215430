/**
 * For `with recursive`: the first ready e-mail of each company and priority, in one index look-up each. A backlog is not read, and
 * companies without ready e-mails cost nothing.
 */
export const READY_HEADS = `heads as (
  (select company_id, priority, outbox_id from email_ready order by company_id, priority, outbox_id limit 1)
  union all
  select n.* from heads h cross join lateral (
    select company_id, priority, outbox_id from email_ready r where (r.company_id, r.priority) > (h.company_id, h.priority)
    order by company_id, priority, outbox_id limit 1) n
)`

/**
 * Since when the ready e-mail `o` has been due. It expires a day after its due time, which a replay and another schedule set anew:
 * a dead letter that was replayed waits since the replay, and not since it was accepted.
 */
export const DUE_SINCE = `coalesce(o.next_attempt_at, o.expires_at - interval '24 hours')`
