import type { Queryable } from './query.ts'

/** Keeps a megabyte with too little memory for it, so that the server writes a temporary file: takes 3 ms, and leaves nothing behind. */
const WRITE_TEMPORARY_FILE = `select set_config('work_mem', '64kB', true);
with filler as materialized (select repeat(md5(n::text), 32) as text from generate_series(1, 1000) n)
select max(length(text)) from filler`

/** A server whose disk is full answers queries, and refuses what needs room. false: it has no room for a megabyte. */
export async function hasDiskSpace(db: Pick<Queryable, 'query'>): Promise<boolean> {
  try {
    await db.query(WRITE_TEMPORARY_FILE)
    return true
  } catch (error) {
    const { code } = error as { code?: string }
    if (code === '53100') return false
    // temp_file_limit allows no such file.
    if (code === '53400') return true
    throw error
  }
}
