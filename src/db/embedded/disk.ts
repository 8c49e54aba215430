import { statfs } from 'node:fs/promises'
import { codeOf, isServerGone, NoSpaceError, NotStartedError } from './error.ts'

/** One segment of the write-ahead log: with less free space the server may stop at any moment. */
export const NEEDED_BYTES = 16 * 1024 * 1024
/** With less free space most writes fail. */
export const FULL_BYTES = 1024 * 1024

export async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

/** A sentence for the operator when the disk of `folder` has less than `neededBytes` free, otherwise null. */
export async function findDiskProblem(folder: string, neededBytes: number): Promise<string | null> {
  const free = await freeBytes(folder).catch(() => null)
  return free !== null && free < neededBytes ? `The ${fullDisk(folder, free)}` : null
}

/**
 * Returns a NoSpaceError when the cause was a full disk, otherwise the same error. Also checks the free space: the server's log
 * may be on the same full disk and then does not contain the reason.
 */
export async function explainNoSpace(error: unknown, folder: string): Promise<unknown> {
  const free = await freeBytes(folder).catch(() => Number.POSITIVE_INFINITY)
  const isReported = /ENOSPC|EDQUOT/.test(codeOf(error) ?? '') || NO_SPACE.test((error as Error).message ?? '')
  const isLikely = free < NEEDED_BYTES && (error instanceof NotStartedError || isServerGone(error))
  if (!isReported && !isLikely) return error
  return new NoSpaceError(`The embedded database did not start: the ${fullDisk(folder, free)}`, { cause: error })
}

const NO_SPACE = /No space left on device|Disk quota exceeded/i

const fullDisk = (folder: string, free: number) =>
  `disk of ${folder} is full (${free} bytes free). Free some space; nothing that was accepted is lost.`
