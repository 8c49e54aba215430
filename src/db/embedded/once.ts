import { randomBytes } from 'node:crypto'
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { syncFolder } from './folders.ts'
import { isAlive } from './process.ts'

const ABANDONED_AFTER_MS = 10 * 60_000
const draftsOfThisProcess = new Set<string>()

type Making = {
  target: string
  isMade: () => Promise<boolean>
  /** Fills `draft/made`, which then becomes the target. */
  make: (draft: string) => Promise<void>
}

/**
 * Makes a folder whole or not at all: it is filled under another name and renamed when complete. A kill in the middle
 * leaves a draft that the next start removes; of two makers at the same time one wins and the other uses its work.
 */
export async function makeFolderOnce({ target, isMade, make }: Making): Promise<void> {
  const made = await isMade()
  await removeAbandonedDrafts(target, made)
  if (made) return
  const draft = `${target}.new-${process.pid}-${randomBytes(4).toString('hex')}`
  draftsOfThisProcess.add(draft)
  try {
    await mkdir(draft, { mode: 0o700 })
    await make(draft)
    await rename(join(draft, 'made'), target)
    await syncFolder(dirname(target))
  } catch (error) {
    if (!(await isMade())) throw error
  } finally {
    await removeTree(draft)
    draftsOfThisProcess.delete(draft)
  }
}

async function removeAbandonedDrafts(target: string, made: boolean): Promise<void> {
  const prefix = `${basename(target)}.new-`
  for (const name of await readdir(dirname(target))) {
    if (!name.startsWith(prefix)) continue
    const draft = join(dirname(target), name)
    const maker = Number(name.slice(prefix.length).split('-')[0])
    if (made || (await isAbandoned(draft, maker))) await removeTree(draft)
  }
}

async function isAbandoned(draft: string, maker: number): Promise<boolean> {
  if (maker === process.pid) return !draftsOfThisProcess.has(draft)
  if (!isAlive(maker)) return true
  // After a reboot or in a new container the number may belong to somebody else.
  const found = await stat(draft).catch(() => undefined)
  return found !== undefined && Date.now() - found.mtimeMs > ABANDONED_AFTER_MS
}

/** The initdb of a killed gateway may still be writing there for a moment. */
function removeTree(folder: string): Promise<void> {
  return rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
}
