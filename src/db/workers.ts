import { type Queryable, run } from './pool.ts'

export type Worker = { workerId: string; host: string; pid: number; lane: 'direct' | 'bullmq'; concurrency: number }

/** A worker that has not said so for this long is not counted. */
const ALIVE = `interval '15 seconds'`

/** "I am here." Also forgets those that have been silent for an hour. */
export async function sayAlive(db: Queryable, worker: Worker): Promise<void> {
  await run(
    db,
    'say-alive',
    `with gone as (delete from workers where seen_at < now() - interval '1 hour')
     insert into workers (worker_id, host, pid, lane, concurrency) values ($1, $2, $3, $4, $5)
     on conflict (worker_id) do update set seen_at = now(), concurrency = excluded.concurrency`,
    [worker.workerId, worker.host, worker.pid, worker.lane, worker.concurrency],
  )
}

export async function sayGone(db: Queryable, workerId: string): Promise<void> {
  await run(db, 'say-gone', `delete from workers where worker_id = $1`, [workerId])
}

/** Hands there are on this lane, over all machines. */
export async function totalConcurrency(db: Queryable, lane: Worker['lane']): Promise<number> {
  const [row] = await run<{ total: number }>(
    db,
    'total-concurrency',
    `select coalesce(sum(concurrency), 0)::int as total from workers where lane = $1 and seen_at > now() - ${ALIVE}`,
    [lane],
  )
  return row!.total
}
