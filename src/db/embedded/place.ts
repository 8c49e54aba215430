import { createHash, randomBytes } from 'node:crypto'
import { chmod, mkdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { EmbeddedPostgresError } from './error.ts'
import { exists, makeSystemDir } from './folders.ts'
import type { Memory } from './memory.ts'
import { run } from './run.ts'
import { canReach, chooseServerUser, isRoot, type ServerUser } from './user.ts'

/** Where the cluster lives, and who runs its server (undefined: we do). */
export type Place = { directory: string; user: ServerUser | undefined }

type Asked = { dataDir: string; systemDir: string; say: (line: string) => void }

/** A directory to remember when the cluster cannot live inside dataDir; nothing when it can. */
export async function proposeDirectory({ dataDir, systemDir, say }: Asked): Promise<{ directory?: string }> {
  if (!isRoot()) return {}
  const existing = await stat(join(dataDir, 'postgres')).catch(() => undefined)
  const user = await chooseServerUser(existing)
  if (existing || (await canReach(user, dataDir))) return {}
  const folder = await unusedFolder(join(systemDir, `data-${shortHash(dataDir)}`), say)
  say(`The user ${user.name}, who runs Postgres, cannot reach ${dataDir}; the database is in ${folder}/postgres.`)
  return { directory: join(folder, 'postgres') }
}

/** After somebody removed DATA_DIR to begin anew, the old database still has its place and its old password. */
async function unusedFolder(folder: string, say: (line: string) => void): Promise<string> {
  if (!(await exists(folder))) return folder
  say(`An older database of this DATA_DIR is left in ${folder}; remove it when you do not need it.`)
  return `${folder}-${randomBytes(3).toString('hex')}`
}

export async function preparePlace(dataDir: string, memory: Memory, systemDir: string): Promise<Place> {
  const directory = memory.directory ?? join(dataDir, 'postgres')
  if (!isRoot()) return { directory, user: undefined }
  if (memory.directory) await makeRoomFor(memory.directory, systemDir)
  const existing = await stat(directory).catch(() => undefined)
  const user = await chooseServerUser(existing)
  if (!(await canReach(user, dirname(directory)))) throw unreachable(directory, user)
  if (existing?.uid === 0) await handOver(directory, user)
  return { directory, user }
}

async function makeRoomFor(directory: string, systemDir: string): Promise<void> {
  await makeSystemDir(systemDir)
  await mkdir(dirname(directory), { recursive: true })
  await chmod(dirname(directory), 0o711)
}

/** A cluster that root copied or restored belongs to root, and no server would start on it. */
async function handOver(directory: string, user: ServerUser): Promise<void> {
  await run('chown', ['-R', '-h', `${user.uid}:${user.gid}`, directory])
  await chmod(directory, 0o700)
}

function unreachable(directory: string, user: ServerUser): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `The user ${user.name}, who runs the embedded database since Postgres does not run as root, cannot reach ${directory}: open the folders above it with chmod o+x, or move DATA_DIR.`,
  )
}

const shortHash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 12)
