import { type Queryable, run } from '../query.ts'

export async function findAdministrator(db: Queryable, name: string): Promise<{ passwordHash: string } | null> {
  const [row] = await run<{ passwordHash: string }>(
    db,
    'find-administrator',
    `select password_hash as "passwordHash" from administrators where name = $1`,
    [name],
  )
  return row ?? null
}

export async function putAdministrator(db: Queryable, name: string, passwordHash: string): Promise<void> {
  await run(
    db,
    'put-administrator',
    `insert into administrators (name, password_hash) values ($1, $2)
     on conflict (name) do update set password_hash = excluded.password_hash`,
    [name, passwordHash],
  )
}

export async function listAdministrators(db: Queryable): Promise<{ name: string; createdAt: Date }[]> {
  return run(db, 'list-administrators', `select name, created_at as "createdAt" from administrators order by name`, [])
}

export async function removeAdministrator(db: Queryable, name: string): Promise<boolean> {
  const rows = await run(db, 'remove-administrator', `delete from administrators where name = $1 returning name`, [
    name,
  ])
  return rows.length > 0
}
