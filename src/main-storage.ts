import type { Logger } from 'pino'
import type { Config } from './config.ts'
import { checkConnection } from './db/check-connection.ts'
import { openEmbeddedPostgres } from './db/embedded/index.ts'
import { migrate } from './db/migrate.ts'
import { ensurePartitions } from './db/partitions.ts'
import { type Database, openDatabase } from './db/pool.ts'

export type Storage = { db: Database; url: string; where: string; alone: boolean; close(): Promise<void> }

export type StorageOptions = {
  use: 'gateway' | 'command'
  say: (line: string) => void
  /** The embedded server is gone for good, or another gateway has it. */
  onLost: (error: Error) => void
  log: Logger
}

/** Postgres, embedded or given; migrated, with its partitions. The same from here on. */
export async function openStorage(config: Config, { use, say, onLost, log }: StorageOptions): Promise<Storage> {
  const embedded = config.DATABASE_URL
    ? null
    : await openEmbeddedPostgres({ dataDir: config.dataDir, use, say, onLost })
  const url = config.DATABASE_URL ?? embedded!.url
  if (config.DATABASE_URL) await checkConnection(url)
  const db = openDatabase(url, error => log.warn({ err: error }, 'A database connection was lost'))
  const close = async () => {
    await db.close()
    await embedded?.close()
  }
  try {
    const applied = await migrate(url)
    if (applied.length > 0) say(`Migrations applied: ${applied.join(', ')}`)
    await ensurePartitions(db.pool)
  } catch (error) {
    await close()
    throw error
  }
  const where = embedded
    ? `embedded Postgres in ${embedded.directory}, port ${embedded.port}`
    : `Postgres at ${hostOf(url)}`
  return { db, url, where, alone: embedded !== null, close }
}

function hostOf(url: string): string {
  const { host, pathname } = new URL(url)
  return `${host}${pathname}`
}
