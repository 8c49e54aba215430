/** What went wrong with the embedded database, in one sentence for the person who started the gateway. */
export class EmbeddedPostgresError extends Error {
  override name = 'EmbeddedPostgresError'
}

export const codeOf = (error: unknown): string | undefined => (error as { code?: string } | undefined)?.code
