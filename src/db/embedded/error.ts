/** What went wrong with the embedded database, in one sentence for the person who started the gateway. */
export class EmbeddedPostgresError extends Error {
  override name = 'EmbeddedPostgresError'
}

export class NotStartedError extends EmbeddedPostgresError {
  override name = 'NotStartedError'
}

/** It passes by itself as soon as there is space on the disk. */
export class NoSpaceError extends EmbeddedPostgresError {
  override name = 'NoSpaceError'
}

export const codeOf = (error: unknown): string | undefined => (error as { code?: string } | undefined)?.code
