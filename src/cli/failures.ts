/** Wrong arguments: exit code 2, and the usage is printed. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** The command failed: exit code 1 and the message; `code` is printed with `--json`. */
export class CommandFailed extends Error {
  override name = 'CommandFailed'
  readonly code: string
  constructor(message: string, code = 'FAILED') {
    super(message)
    this.code = code
  }
}

export const notFound = (message: string) => new CommandFailed(message, 'NOT_FOUND')
