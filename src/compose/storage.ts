import { dirname } from 'node:path'
import type { Logger } from 'pino'
import { type Config, ConfigError, noGatewayMessage, type ReadingConfig } from '../config.ts'
import { checkConnection } from '../db/check-connection.ts'
import { type EmbeddedPostgres, hasEmbeddedPostgres, openEmbeddedPostgres } from '../db/embedded/index.ts'
import { migrate, requireMigrated } from '../db/migrate.ts'
import { ensurePartitions } from '../db/outbox/partitions.ts'
import { type Database, openDatabase } from '../db/pool.ts'
import { hasFingerprints } from '../db/secret-fingerprints.ts'
import { recordSecrets, requireSameSecrets } from './secrets.ts'

export type Storage = {
  db: Database
  url: string
  where: string
  alone: boolean
  /** Where the embedded database lives; null with DATABASE_URL. */
  folder: string | null
  close(): Promise<void>
}

export type StorageOptions = {
  use: 'gateway' | 'command'
  say: (line: string) => void
  /** The embedded server is gone for good, or another gateway has it. */
  onLost: (error: Error) => void
  log: Logger
}

/** Postgres, embedded or given; made where there is none, and migrated. For `start` and `migrate` only. */
export async function openStorage(config: Config, options: StorageOptions): Promise<Storage & { applied: string[] }> {
  let applied: string[] = []
  const storage = await opened(config, options, async ({ db, url }) => {
    // Before the schema changes: whoever is refused has changed nothing.
    if (await hasFingerprints(db.pool)) await requireSameSecrets(db.pool, config)
    applied = await migrate(url)
    if (applied.length > 0) options.say(`Migrations applied: ${applied.join(', ')}`)
    await recordSecrets(db.pool, config)
    await ensurePartitions(db.pool)
  })
  return { ...storage, applied }
}

/** The database as it is, for every other command. Where there is none, or an older one, the error says what to run. */
export async function openExistingStorage(config: Config, options: StorageOptions): Promise<Storage> {
  return openToRead(config, options, db => requireSameSecrets(db.pool, config))
}

/** The same for who neither hashes nor encrypts: whatever the secrets are. */
export async function openToRead(
  config: ReadingConfig,
  options: StorageOptions,
  check: (db: Database) => Promise<void> = async () => {},
): Promise<Storage> {
  if (!config.DATABASE_URL && !hasEmbeddedPostgres(config.dataDir))
    throw new ConfigError(noGatewayMessage(config.dataDir))
  return opened(config, options, async ({ db }) => {
    await requireMigrated(db.pool)
    await check(db)
  })
}

async function opened(
  config: ReadingConfig,
  { use, say, onLost, log }: StorageOptions,
  prepare: (opened: { db: Database; url: string }) => Promise<void>,
): Promise<Storage> {
  const embedded = config.DATABASE_URL
    ? null
    : await openEmbeddedPostgres({ dataDir: config.dataDir, use, say, complain: line => log.error(line), onLost })
  const url = config.DATABASE_URL ?? embedded!.url
  if (config.DATABASE_URL) await checkConnection(url)
  const db = openDatabase(url, error => log.warn({ err: error }, 'A database connection was lost'))
  const close = async () => {
    await db.close()
    await embedded?.close()
  }
  try {
    await prepare({ db, url })
    await db.clock.measure()
  } catch (error) {
    await close()
    throw error
  }
  const where = embedded ? indexInBatch(embedded, config.dataDir) : `Postgres at ${hostOf(url)}`
  return { db, url, where, alone: embedded !== null, folder: embedded?.directory ?? null, close }
}

/** As root below a folder that is closed to others, it cannot be in DATA_DIR: who deletes the one must know of the other. */
function indexInBatch({ directory, port, outside }: EmbeddedPostgres, dataDir: string): string {
  const place = `embedded Postgres in ${directory}, port ${port}`
  if (!outside) return place
  return `${place}; its server's user cannot reach ${dataDir}, which holds the secrets: they belong together, so back up or delete ${dirname(directory)} and ${dataDir} together`
}

function hostOf(url: string): string {
  const { host, pathname } = new URL(url)
  return `${host}${pathname}`
}
