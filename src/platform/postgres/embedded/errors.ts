import { statfs } from 'node:fs/promises'

/** The message is one sentence for the person who started the gateway. */
export class EmbeddedPostgresError extends Error {
  override name = 'EmbeddedPostgresError'
}

export class NotStartedError extends EmbeddedPostgresError {
  override name = 'NotStartedError'
}

/** Temporary: the server starts again as soon as there is space on the disk. */
export class NoSpaceError extends EmbeddedPostgresError {
  override name = 'NoSpaceError'
}

export const codeOf = (error: unknown): string | undefined => (error as { code?: string } | undefined)?.code

/** The server stopped or crashed while we were connected or connecting. */
export function isServerGone(error: unknown): boolean {
  const code = codeOf(error) ?? ''
  if (/^(ECONNREFUSED|ECONNRESET|EPIPE|57P01|57P02|57P03)$/.test(code)) return true
  return error instanceof Error && /terminated|timeout|not queryable/i.test(error.message)
}

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
