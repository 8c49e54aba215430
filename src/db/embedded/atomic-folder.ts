import { randomBytes } from 'node:crypto'
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { syncFolder } from './folders.ts'
import { isAlive } from './process.ts'

const ABANDONED_AFTER_MS = 10 * 60_000
const draftsOfThisProcess = new Set<string>()

type FolderToCreate = {
  target: string
  isComplete: () => Promise<boolean>
  /** Creates `draft/made`, which is then renamed to the target. */
  create: (draft: string) => Promise<void>
}

/**
 * Creates the folder completely or not at all: it is filled under a temporary name and renamed when complete. A process killed
 * in the middle leaves a draft that the next start removes. Of two simultaneous processes one creates it and the other uses it.
 */
export async function createFolderAtomically({ target, isComplete, create }: FolderToCreate): Promise<void> {
  const complete = await isComplete()
  await removeAbandonedDrafts(target, complete)
  if (complete) return
  const draft = `${target}.new-${process.pid}-${randomBytes(4).toString('hex')}`
  draftsOfThisProcess.add(draft)
  try {
    await mkdir(draft, { mode: 0o700 })
    await create(draft)
    await rename(join(draft, 'made'), target)
    await syncFolder(dirname(target))
  } catch (error) {
    if (!(await isComplete())) throw error
  } finally {
    await removeTree(draft)
    draftsOfThisProcess.delete(draft)
  }
}

async function removeAbandonedDrafts(target: string, complete: boolean): Promise<void> {
  const prefix = `${basename(target)}.new-`
  for (const name of await readdir(dirname(target))) {
    if (!name.startsWith(prefix)) continue
    const draft = join(dirname(target), name)
    const creatorPid = Number(name.slice(prefix.length).split('-')[0])
    if (complete || (await isAbandoned(draft, creatorPid))) await removeTree(draft)
  }
}

async function isAbandoned(draft: string, creatorPid: number): Promise<boolean> {
  if (creatorPid === process.pid) return !draftsOfThisProcess.has(draft)
  if (!isAlive(creatorPid)) return true
  // After a reboot or in a new container the pid may belong to an unrelated process.
  const found = await stat(draft).catch(() => undefined)
  return found !== undefined && Date.now() - found.mtimeMs > ABANDONED_AFTER_MS
}

/** Retries: the initdb of a killed gateway may still be writing. */
function removeTree(folder: string): Promise<void> {
  return rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
}
