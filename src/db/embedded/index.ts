import { existsSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { findNativePackage, prepareBinaries } from './binaries.ts'
import { type Cluster, ensureCluster } from './cluster.ts'
import { chooseDirectory, prepareDirectory } from './cluster-directory.ts'
import { makeDataDir } from './folders.ts'
import { findFreePort } from './port.ts'
import { connectionUrl, createSavedState, readSavedState } from './saved-state.ts'
import { connectToServer, keepConnection } from './server-connection.ts'
import type { ServerUse } from './usage-locks.ts'

export { FULL_BYTES, findDiskProblem, freeBytes, NEEDED_BYTES } from './disk.ts'
export { EmbeddedPostgresError } from './error.ts'
export { giveToOwnerOf, makeDataDir } from './folders.ts'

export type EmbeddedPostgres = {
  /** postgres://gateway:<password>@127.0.0.1:<port>/gateway */
  url: string
  directory: string
  /** Not below dataDir, because the server's user cannot reach that. */
  outside: boolean
  port: number
  /** The server was already running: left by a killed gateway, or shared with another process. */
  adopted: boolean
  /** Stops the server unless another process uses it. */
  close(): Promise<void>
  /** The same, without waiting until the server has stopped. */
  abandon(): Promise<void>
}

export type EmbeddedPostgresOptions = {
  dataDir: string
  /** One gateway per dataDir; commands share its server. */
  use: ServerUse
  logInfo?: (line: string) => void
  /** For problems that the operator has to solve. Default: `logInfo`. */
  logError?: (line: string) => void
  /** The server stopped and could not be started again on the same port. */
  onLost?: (error: Error) => void
  /** Overrides of the server's settings; used only if this call starts the server. */
  settings?: Record<string, string>
  /** Used only as root: a folder for what the server's user cannot reach in dataDir or node_modules. */
  systemDir?: string
}

export async function openEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { use, logInfo = () => undefined } = options
  const { onLost = error => logInfo(`The embedded database is lost: ${error.message}`) } = options
  const cluster = await prepareCluster(options, logInfo)
  const connection = await connectToServer(cluster, use)
  const { close, abandon } = keepConnection({ cluster, use, connection, onLost })
  const { port, adopted } = connection
  const { directory, saved } = cluster
  return {
    url: connectionUrl({ ...saved, port }),
    directory,
    outside: saved.directory !== undefined,
    port,
    adopted,
    close,
    abandon,
  }
}

/** The URL of the database in dataDir, running or not; undefined if none was created yet. */
export function savedUrl(dataDir: string): string | undefined {
  const saved = readSavedState(dataDir)
  return saved && connectionUrl(saved)
}

/** Creates nothing. */
export function hasEmbeddedPostgres(dataDir: string): boolean {
  const saved = readSavedState(dataDir)
  return saved !== undefined && existsSync(join(saved.directory ?? join(dataDir, 'postgres'), 'PG_VERSION'))
}

async function prepareCluster(options: EmbeddedPostgresOptions, logInfo: (line: string) => void): Promise<Cluster> {
  const { settings = {}, systemDir = '/var/lib/email-gateway', logError = logInfo } = options
  await makeDataDir(resolve(options.dataDir))
  const dataDir = await realpath(options.dataDir)
  const proposal = async () => ({
    port: await findFreePort(),
    ...(await chooseDirectory({ dataDir, systemDir, logInfo })),
  })
  const saved = readSavedState(dataDir) ?? (await createSavedState(dataDir, await proposal()))
  const { directory, user } = await prepareDirectory(dataDir, saved, systemDir)
  const binaries = await prepareBinaries(await findNativePackage(), { user, systemDir, logInfo })
  const cluster = { dataDir, directory, user, binaries, saved, settings, logInfo, logError }
  await ensureCluster(cluster)
  return cluster
}
