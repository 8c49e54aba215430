import { createHash, randomBytes } from 'node:crypto'
import { chmod, mkdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { EmbeddedPostgresError } from './error.ts'
import { exists, makeSystemDir } from './folders.ts'
import { run } from './run.ts'
import type { SavedState } from './saved-state.ts'
import { canReach, chooseServerUser, isRoot, type ServerUser } from './user.ts'

/** The folder of the cluster, and the user who runs its server (undefined: the user of this process). */
export type ClusterDirectory = { directory: string; user: ServerUser | undefined }

type DirectoryOptions = { dataDir: string; systemDir: string; logInfo: (line: string) => void }

/** A directory to save if the server's user cannot reach dataDir; none if the cluster can be inside dataDir. */
export async function chooseDirectory({
  dataDir,
  systemDir,
  logInfo,
}: DirectoryOptions): Promise<{ directory?: string }> {
  if (!isRoot()) return {}
  const existing = await stat(join(dataDir, 'postgres')).catch(() => undefined)
  const user = await chooseServerUser(existing)
  if (existing || (await canReach(user, dataDir))) return {}
  const folder = await unusedFolder(join(systemDir, `data-${shortHash(dataDir)}`), logInfo)
  logInfo(`The user ${user.name}, who runs Postgres, cannot reach ${dataDir}; the database is in ${folder}/postgres.`)
  return { directory: join(folder, 'postgres') }
}

/** If DATA_DIR was deleted to start over, the folder still holds the old database, which has another password. */
async function unusedFolder(folder: string, logInfo: (line: string) => void): Promise<string> {
  if (!(await exists(folder))) return folder
  logInfo(`An older database of this DATA_DIR is left in ${folder}; remove it when you do not need it.`)
  return `${folder}-${randomBytes(3).toString('hex')}`
}

export async function prepareDirectory(
  dataDir: string,
  saved: SavedState,
  systemDir: string,
): Promise<ClusterDirectory> {
  const directory = saved.directory ?? join(dataDir, 'postgres')
  if (!isRoot()) return { directory, user: undefined }
  if (saved.directory) await makeParentDirectory(saved.directory, systemDir)
  const existing = await stat(directory).catch(() => undefined)
  const user = await chooseServerUser(existing)
  if (!(await canReach(user, dirname(directory)))) throw unreachable(directory, user)
  if (existing?.uid === 0) await giveClusterTo(directory, user)
  return { directory, user }
}

async function makeParentDirectory(directory: string, systemDir: string): Promise<void> {
  await makeSystemDir(systemDir)
  await mkdir(dirname(directory), { recursive: true })
  await chmod(dirname(directory), 0o711)
}

/** A cluster that was copied or restored by root belongs to root, and Postgres would not start on it. */
async function giveClusterTo(directory: string, user: ServerUser): Promise<void> {
  await run('chown', ['-R', '-h', `${user.uid}:${user.gid}`, directory])
  await chmod(directory, 0o700)
}

function unreachable(directory: string, user: ServerUser): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `The user ${user.name}, who runs the embedded database since Postgres does not run as root, cannot reach ${directory}: open the folders above it with chmod o+x, or move DATA_DIR.`,
  )
}

const shortHash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 12)
