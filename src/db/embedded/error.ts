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
