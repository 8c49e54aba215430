import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'

const MIGRATIONS = join(import.meta.dirname, '../../migrations')

/** A database as an earlier version left it: with the first so many migrations. */
export async function asItWas(url: string, migrations: number): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('drop schema public cascade; create schema public')
  await client.query(
    'create table schema_migrations (version integer primary key, name text not null, applied_at timestamptz not null default now())',
  )
  for (const file of (await readdir(MIGRATIONS)).sort().slice(0, migrations)) {
    await client.query(await readFile(join(MIGRATIONS, file), 'utf8'))
    await client.query('insert into schema_migrations (version, name) values ($1, $2)', [
      Number(file.slice(0, 4)),
      file,
    ])
  }
  await client.query(`select ensure_email_partitions((now() at time zone 'UTC')::date)`)
  return client
}

/** As every version so far has accepted them. */
export async function putEmail(client: pg.Client, companyId: string, id: string): Promise<void> {
  await client.query(
    `insert into email_outbox (outbox_id, company_id, request_id, test, from_address, subject, priority, retry_policy, on_unknown, max_attempts, expires_at)
     values ($1, $2, 'r', false, 'a@example.com', 'Hello', 5, 'steps', 'resend', 5, now() + interval '1 day')`,
    [id, companyId],
  )
  await client.query(
    `insert into email_recipients (outbox_id, ordinal, kind, address) values ($1, 0, 'to', 'maria@example.com')`,
    [id],
  )
  await client.query(`insert into email_content (outbox_id, text) values ($1, 'It works.')`, [id])
}
