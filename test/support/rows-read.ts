import type pg from 'pg'

/** Rows of the tables whose names match that `act` reads on a connection of this pool. */
export async function rowsRead(
  pool: pg.Pool,
  tables: string,
  act: (db: pg.PoolClient) => Promise<unknown>,
): Promise<number> {
  const client = await pool.connect()
  // What the connection has read before is in the figure until it is reported, which is once a second at most.
  const soFar = async () =>
    (
      await client.query(
        `select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int as read from pg_stat_xact_user_tables where relname ~ $1`,
        [tables],
      )
    ).rows[0].read
  try {
    await client.query('begin')
    const before = await soFar()
    await act(client)
    return (await soFar()) - before
  } finally {
    await client.query('rollback')
    client.release()
  }
}
