import { type Queryable, run } from './pool.ts'

export async function countOne(db: Queryable, name: string, label: string): Promise<void> {
  await run(
    db,
    'count-one',
    `insert into counters as c (name, label, value) values ($1, $2, 1)
     on conflict (name, label) do update set value = c.value + 1`,
    [name, label],
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
