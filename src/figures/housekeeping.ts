import { type Queryable, sql } from '../platform/postgres/query.ts'

export type HousekeepingRun = { task: string; everySeconds: number }

/** These tasks have just ended well. In order, so that two processes cannot deadlock. */
export async function recordHousekeeping(db: Queryable, runs: HousekeepingRun[]): Promise<void> {
  await sql(db, 'record-housekeeping')`
    insert into housekeeping_runs (task, every_seconds)
     select task, "everySeconds" from json_to_recordset(${JSON.stringify(runs)}::json) as x(task text, "everySeconds" float8) order by task
     on conflict (task) do update set every_seconds = excluded.every_seconds, finished_at = now()`
}

export async function listHousekeeping(db: Queryable): Promise<(HousekeepingRun & { finishedAtSeconds: number })[]> {
  return sql<HousekeepingRun & { finishedAtSeconds: number }>(db, 'list-housekeeping')`
    select task, every_seconds, extract(epoch from finished_at)::float8 as "finishedAtSeconds"
     from housekeeping_runs order by task`
}
