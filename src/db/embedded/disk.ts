import { statfs } from 'node:fs/promises'
import { codeOf, NoSpaceError, NotStartedError } from './error.ts'
import { isGone } from './hold.ts'

/** A segment of the write-ahead log: with less than this, the server may have to stop at any moment. */
export const NEEDED_BYTES = 16 * 1024 * 1024
/** With less than this, hardly any statement can write. */
export const FULL_BYTES = 1024 * 1024

export async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

/** A sentence that names the folder when less than this is free on its disk; null when there is space. */
export async function findDiskProblem(folder: string, neededBytes: number): Promise<string | null> {
  const free = await freeBytes(folder).catch(() => null)
  return free !== null && free < neededBytes ? `The ${fullDisk(folder, free)}` : null
}

/**
 * The same error, or one that says that the disk is full. The server's log may be on the same disk and hold no reason, so the
 * space itself is asked, too.
 */
export async function nameNoSpace(error: unknown, folder: string): Promise<unknown> {
  const free = await freeBytes(folder).catch(() => Number.POSITIVE_INFINITY)
  const isSaid = /ENOSPC|EDQUOT/.test(codeOf(error) ?? '') || NO_SPACE.test((error as Error).message ?? '')
  const isLikely = free < NEEDED_BYTES && (error instanceof NotStartedError || isGone(error))
  if (!isSaid && !isLikely) return error
  return new NoSpaceError(`The embedded database did not start: the ${fullDisk(folder, free)}`, { cause: error })
}

const NO_SPACE = /No space left on device|Disk quota exceeded/i

const fullDisk = (folder: string, free: number) =>
  `disk of ${folder} is full (${free} bytes free). Free some space; nothing that was accepted is lost.`
