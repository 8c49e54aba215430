import { existsSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { findNativePackage, prepareBinaries } from './binaries.ts'
import { type Cluster, ensureCluster } from './cluster.ts'
import { makeDataDir } from './folders.ts'
import type { Use } from './hold.ts'
import { joinServer, keepHold } from './join.ts'
import { agreeOn, recall, urlOf } from './memory.ts'
import { preparePlace, proposeDirectory } from './place.ts'
import { findFreePort } from './port.ts'

export { FULL_BYTES, findDiskProblem, freeBytes, NEEDED_BYTES } from './disk.ts'
export { EmbeddedPostgresError } from './error.ts'
export { giveToOwnerOf, makeDataDir } from './folders.ts'

export type EmbeddedPostgres = {
  /** postgres://gateway:<password>@127.0.0.1:<port>/gateway */
  url: string
  directory: string
  /** It is not in dataDir, which the server's user cannot reach. */
  outside: boolean
  port: number
  /** Found running: left by a killed gateway, or shared with another process. */
  adopted: boolean
  /** Stops the server unless another process uses it. */
  close(): Promise<void>
}

export type EmbeddedPostgresOptions = {
  dataDir: string
  /** There is one gateway per dataDir; commands join it or are alone. */
  use: Use
  say?: (line: string) => void
  /** What somebody has to do something about; `say` unless given. */
  complain?: (line: string) => void
  /** The server went away and could not be brought back on the same port. */
  onLost?: (error: Error) => void
  /** Replaces some of the server's settings, when this call is the one that starts it. */
  settings?: Record<string, string>
  /** As root: the place for what the server's user cannot reach in dataDir or node_modules. */
  systemDir?: string
}

export async function openEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { use, say = () => undefined } = options
  const { onLost = error => say(`The embedded database is lost: ${error.message}`) } = options
  const cluster = await prepareCluster(options, say)
  const joined = await joinServer(cluster, use)
  const { close } = keepHold({ cluster, use, joined, onLost })
  const { port, adopted } = joined
  const { directory, memory } = cluster
  return { url: urlOf({ ...memory, port }), directory, outside: memory.directory !== undefined, port, adopted, close }
}

/** Of the database in dataDir, running or not; undefined when none was made yet. */
export function savedUrl(dataDir: string): string | undefined {
  const memory = recall(dataDir)
  return memory && urlOf(memory)
}

/** Whether a database was made for dataDir; nothing is made by asking. */
export function hasEmbeddedPostgres(dataDir: string): boolean {
  const memory = recall(dataDir)
  return memory !== undefined && existsSync(join(memory.directory ?? join(dataDir, 'postgres'), 'PG_VERSION'))
}

async function prepareCluster(options: EmbeddedPostgresOptions, say: (line: string) => void): Promise<Cluster> {
  const { settings = {}, systemDir = '/var/lib/email-gateway', complain = say } = options
  await makeDataDir(resolve(options.dataDir))
  const dataDir = await realpath(options.dataDir)
  const proposal = async () => ({
    port: await findFreePort(),
    ...(await proposeDirectory({ dataDir, systemDir, say })),
  })
  const memory = recall(dataDir) ?? (await agreeOn(dataDir, await proposal()))
  const { directory, user } = await preparePlace(dataDir, memory, systemDir)
  const binaries = await prepareBinaries(await findNativePackage(), { user, systemDir, say })
  const cluster = { dataDir, directory, user, binaries, memory, settings, say, complain }
  await ensureCluster(cluster)
  return cluster
}
