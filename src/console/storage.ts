import { dirname } from 'node:path'
import type { Logger } from 'pino'
import { checkConnection } from '../platform/postgres/connection.ts'
import {
  type EmbeddedPostgres,
  hasEmbeddedPostgres,
  openEmbeddedPostgres,
} from '../platform/postgres/embedded/index.ts'
import { migrate, requireMigrated } from '../platform/postgres/migrate.ts'
import { ensurePartitions } from '../platform/postgres/partitions.ts'
import { type Database, openDatabase } from '../platform/postgres/pool.ts'
import { type Config, ConfigError, noGatewayMessage, type ReadingConfig } from '../settings/config.ts'
import { hasFingerprints, recordSecrets, requireSameSecrets } from '../settings/secrets-of-database.ts'

export type Storage = {
  db: Database
  url: string
  /** For the first lines of the log. */
  where: string
  /** Only one gateway can run on this database, because it is embedded. */
  onlyGateway: boolean
  /** The folder of the embedded database; null with DATABASE_URL. */
  folder: string | null
  close(): Promise<void>
  /** For an exit at once: an embedded server is told to stop, and nobody waits for it. */
  abandon(): Promise<void>
}

export type StorageOptions = {
  use: 'gateway' | 'command'
  logInfo: (line: string) => void
  /** The embedded server stopped and could not be started again on its port. */
  onLost: (error: Error) => void
  log: Logger
}

/** For `start`, `migrate` and `restore` only: creates the embedded database if there is none, and applies the migrations. */
export async function openStorage(
  config: Config,
  options: StorageOptions,
  /** A restore brings those of the backup: wrong ones that were recorded first would refuse the right ones. */
  secrets: 'record' | 'restored' = 'record',
): Promise<Storage & { applied: string[] }> {
  let applied: string[] = []
  const storage = await open(config, options, async ({ db, url }) => {
    // Before the migrations: a gateway with wrong secrets must not change the schema.
    if (await hasFingerprints(db.pool)) await requireSameSecrets(db.pool, config)
    applied = await migrate(url)
    if (applied.length > 0) options.logInfo(`Migrations applied: ${applied.join(', ')}`)
    if (secrets === 'record') await recordSecrets(db.pool, config)
    await ensurePartitions(db.pool)
  })
  return { ...storage, applied }
}

/** For every other command: creates and migrates nothing. If that is needed, the error names the command to run. */
export async function openExistingStorage(config: Config, options: StorageOptions): Promise<Storage> {
  return openToRead(config, options, db => requireSameSecrets(db.pool, config))
}

/** For commands that neither hash nor encrypt, so the secrets need not match. */
export async function openToRead(
  config: ReadingConfig,
  options: StorageOptions,
  check: (db: Database) => Promise<void> = async () => {},
): Promise<Storage> {
  if (!config.DATABASE_URL && !hasEmbeddedPostgres(config.dataDir))
    throw new ConfigError(noGatewayMessage(config.dataDir))
  return open(config, options, async ({ db }) => {
    await requireMigrated(db.pool)
    await check(db)
  })
}

async function open(
  config: ReadingConfig,
  { use, logInfo, onLost, log }: StorageOptions,
  prepare: (opened: { db: Database; url: string }) => Promise<void>,
): Promise<Storage> {
  const embedded = config.DATABASE_URL
    ? null
    : await openEmbeddedPostgres({ dataDir: config.dataDir, use, logInfo, logError: line => log.error(line), onLost })
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
  const where = embedded ? describeLocation(embedded, config.dataDir) : `Postgres at ${hostOf(url)}`
  const abandon = async () => embedded?.abandon()
  return { db, url, where, onlyGateway: embedded !== null, folder: embedded?.directory ?? null, close, abandon }
}

/** If the database is outside DATA_DIR, an operator who deletes or backs up one folder must know of the other. */
function describeLocation({ directory, port, outside }: EmbeddedPostgres, dataDir: string): string {
  const location = `embedded Postgres in ${directory}, port ${port}`
  if (!outside) return location
  return `${location}; its server's user cannot reach ${dataDir}, which holds the secrets: they belong together, so back up or delete ${dirname(directory)} and ${dataDir} together`
}

function hostOf(url: string): string {
  const { host, pathname } = new URL(url)
  return `${host}${pathname}`
}
