import type pg from 'pg'
import { inTransaction, runUnprepared, withConnection } from '../query.ts'

/**
 * Detached concurrently, which waits for transactions that use the table and lets everybody else go on; then it is a table that nobody
 * else has, and dropping it blocks nobody. A plain DROP would wait for a lock on the parent with every accept behind it.
 */
export async function dropPartition(pool: pg.Pool, parent: string, day: string): Promise<void> {
  const child = `${parent}_${day.replaceAll('-', '')}`
  await detach(pool, parent, child)
  await inTransaction(pool, async tx => {
    await tx.query(`set local lock_timeout = '2s'`)
    await tx.query(`drop table if exists ${child}`)
  })
}

/** A detachment that was interrupted, by a time limit or a crash, is finished. */
async function detach(pool: pg.Pool, parent: string, child: string): Promise<void> {
  const [attached] = await runUnprepared<{ pending: boolean }>(
    pool,
    'select inhdetachpending as pending from pg_inherits where inhparent = to_regclass($1) and inhrelid = to_regclass($2)',
    [parent, child],
  )
  if (!attached) return
  await withConnection(pool, db =>
    db.query(`alter table ${parent} detach partition ${child} ${attached.pending ? 'finalize' : 'concurrently'}`),
  )
}
