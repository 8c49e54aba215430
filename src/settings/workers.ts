import { fragment, type Queryable, sql } from '../platform/postgres/query.ts'

export type Worker = { workerId: string; host: string; pid: number; lane: 'direct' | 'bullmq'; concurrency: number }

/** A worker without a heartbeat for this long is not counted. */
export const HEARTBEAT_TIMEOUT = fragment`interval '15 seconds'`

/** Also deletes workers without a heartbeat for an hour. */
export async function recordHeartbeat(db: Queryable, worker: Worker): Promise<void> {
  await sql(db, 'record-heartbeat')`
    with deleted as (delete from workers where seen_at < now() - interval '1 hour')
     insert into workers (worker_id, host, pid, lane, concurrency) values (${worker.workerId}, ${worker.host}, ${worker.pid}, ${worker.lane}, ${worker.concurrency})
     on conflict (worker_id) do update set seen_at = now(), concurrency = excluded.concurrency`
}

export async function unregisterWorker(db: Queryable, workerId: string): Promise<void> {
  await sql(db, 'unregister-worker')`delete from workers where worker_id = ${workerId}`
}

/** The sum over all machines. */
export async function totalConcurrency(db: Queryable, lane: Worker['lane']): Promise<number> {
  const [row] = await sql<{ total: number }>(db, 'total-concurrency')`
    select coalesce(sum(concurrency), 0)::int as total from workers where lane = ${lane} and seen_at > now() - ${HEARTBEAT_TIMEOUT}`
  return row!.total
}

/** Those with a recent heartbeat. */
export async function countWorkers(db: Queryable): Promise<number> {
  const [row] = await sql<{ count: number }>(db, 'count-workers')`
    select count(*)::int as count from workers where seen_at > now() - ${HEARTBEAT_TIMEOUT}`
  return row!.count
}
