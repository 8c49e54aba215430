import { type Queryable, run } from './query.ts'

export async function countOne(db: Queryable, name: string, label: string): Promise<void> {
  await run(
    db,
    'count-one',
    `insert into counters as c (name, label, value) values ($1, $2, 1)
     on conflict (name, label) do update set value = c.value + 1`,
    [name, label],
  )
}

/** Rows are locked in one order (`order by`), so that two processes cannot deadlock. */
export async function addCounts(db: Queryable, counts: Counter[]): Promise<void> {
  if (counts.length === 0) return
  await run(
    db,
    'add-counts',
    `insert into counters as c (name, label, value)
     select name, label, sum(value) from json_to_recordset($1::json) as x(name text, label text, value bigint)
     group by name, label order by name, label
     on conflict (name, label) do update set value = c.value + excluded.value`,
    [JSON.stringify(counts)],
  )
}

export type Counter = { name: string; label: string; value: number }

export async function listCounters(db: Queryable): Promise<Counter[]> {
  return run<Counter>(
    db,
    'list-counters',
    `select name, label, value::float8 as value from counters order by name, label`,
    [],
  )
}
