/**
 * The deliveries of each endpoint that wait for a later attempt, for the `with` of a statement. They have no index by endpoint, so
 * they are read once for all endpoints, and not more of them than can be read at every glance.
 */
export const WITH_RETRIES = `with retries as materialized (
    select d.endpoint_id, count(*) as count from (select endpoint_id from webhook_deliveries where due_at is not null limit 10000) d
    group by d.endpoint_id)`

/** Of the endpoint w: what is ready and what is due later, up to 1 000. */
export const WAITING = `least(1000, (select count(*) from (select from webhook_ready r where r.endpoint_id = w.endpoint_id limit 1000) r)
    + coalesce((select r.count from retries r where r.endpoint_id = w.endpoint_id), 0))::int`
