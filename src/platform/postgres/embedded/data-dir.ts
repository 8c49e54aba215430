import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { access, chmod, chown, constants, link, mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { codeOf, EmbeddedPostgresError } from './errors.ts'
import { isRoot, syncFolder } from './system.ts'

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

/** A start as root must not lock out the ordinary user who owns the folder. */
export async function giveToOwnerOf(folder: string, file: string): Promise<void> {
  if (!isRoot()) return
  const { uid, gid } = await stat(folder)
  await chown(file, uid, gid)
}

/** The content of <dataDir>/postgres.json. `directory` is set only when the cluster is outside dataDir. */
export type SavedState = { password: string; port: number; directory?: string | undefined }

const fileOf = (dataDir: string) => join(dataDir, 'postgres.json')

export function readSavedState(dataDir: string): SavedState | undefined {
  const file = fileOf(dataDir)
  try {
    return parse(readFileSync(file, 'utf8'), file)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    if (codeOf(error) !== 'EACCES') throw error
    throw new EmbeddedPostgresError(
      `${file} belongs to another user: start the gateway as the user who created it, or give this one its own DATA_DIR.`,
    )
  }
}

function parse(text: string, file: string): SavedState {
  try {
    const saved = JSON.parse(text) as SavedState
    if (typeof saved.password === 'string' && Number.isInteger(saved.port)) return saved
  } catch {
    // Reported below, together with a file that parses but lacks a field.
  }
  throw new EmbeddedPostgresError(
    `${file} is damaged; it holds the password of the embedded database: restore it from a backup.`,
  )
}

/** link() fails if the file exists: of two simultaneous first starts one chooses the password and both return it. */
export async function createSavedState(dataDir: string, proposal: Omit<SavedState, 'password'>): Promise<SavedState> {
  const saved = { password: randomBytes(24).toString('base64url'), ...proposal }
  const draft = await writeDraft(dataDir, saved)
  try {
    await link(draft, fileOf(dataDir))
    await syncFolder(dataDir)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  } finally {
    await rm(draft, { force: true })
  }
  return readSavedState(dataDir) ?? saved
}

export async function writeSavedState(dataDir: string, saved: SavedState): Promise<void> {
  await rename(await writeDraft(dataDir, saved), fileOf(dataDir))
  await syncFolder(dataDir)
}

async function writeDraft(dataDir: string, saved: SavedState): Promise<string> {
  const draft = `${fileOf(dataDir)}.${process.pid}-${randomBytes(4).toString('hex')}`
  const file = await open(draft, 'wx', 0o600)
  try {
    await file.writeFile(`${JSON.stringify(saved, null, 2)}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await giveToOwnerOf(dataDir, draft)
  return draft
}
