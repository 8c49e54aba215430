import type { ProblemCode } from '../http/problem.ts'

/** Wrong arguments: exit code 2, and the usage is printed. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** What only the command line refuses. Everything that the API refuses, too, has the API's code. */
type OwnCode =
  | 'AWS_CREDENTIALS'
  | 'AWS_PERMISSION_MISSING'
  | 'AWS_REFUSED'
  | 'AWS_UNREACHABLE'
  | 'BAD_SETTING'
  | 'FAILED'
  | 'FILE_EXISTS'
  | 'NO_WORKER'
  | 'UNKNOWN_ERROR_CODE'
  | 'WEBHOOK_NOT_ACCEPTED'
  | 'WEBHOOK_WAITING'

export type FailureCode = ProblemCode | OwnCode

/** The command failed: exit code 1 and the message; `code` is printed with `--json`. */
export class CommandFailed extends Error {
  override name = 'CommandFailed'
  readonly code: FailureCode
  constructor(message: string, code: FailureCode = 'FAILED') {
    super(message)
    this.code = code
  }
}

export const notFound = (message: string) => new CommandFailed(message, 'NOT_FOUND')
