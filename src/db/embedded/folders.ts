import { access, chmod, chown, constants, lstat, mkdir, open, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { codeOf, EmbeddedPostgresError } from './error.ts'
import { isRoot, type ServerUser } from './user.ts'

/** Private to its owner. As root it is 0711, because the server runs as another user and its folder is inside. */
export async function makeDataDir(dataDir: string): Promise<void> {
  try {
    const mode = isRoot() ? 0o711 : 0o700
    await mkdir(dirname(dataDir), { recursive: true })
    const made = await mkdir(dataDir, { recursive: true, mode })
    // mkdir applies the umask; 077 would lock out the server.
    if (made) await chmod(dataDir, mode)
    await access(dataDir, constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new EmbeddedPostgresError(
      `DATA_DIR ${dataDir} cannot be used (${codeOf(error)}): give this gateway a folder it may write to.`,
    )
  }
}

/** For root only: a folder that the server's user can reach. */
export async function makeSystemDir(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true })
    await chmod(folder, 0o755)
  } catch (error) {
    throw new EmbeddedPostgresError(
      `Postgres does not run as root and ${folder} cannot be created for it (${codeOf(error)}): start the gateway as an ordinary user, or set DATABASE_URL.`,
    )
  }
}

export async function giveTo(user: ServerUser, ...paths: string[]): Promise<void> {
  for (const path of paths) await chown(path, user.uid, user.gid)
}

/** A start as root must not lock out the ordinary user who owns the folder. */
export async function giveToOwnerOf(folder: string, file: string): Promise<void> {
  if (!isRoot()) return
  const { uid, gid } = await stat(folder)
  await chown(file, uid, gid)
}

/** Without fsync of the folder a power cut may undo a rename. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  await handle.sync().finally(() => handle.close())
}

export async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  )
}
