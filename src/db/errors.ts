/** The database cannot be reached, or went away in the middle. The caller may try again. */
export class DatabaseUnavailable extends Error {
  override name = 'DatabaseUnavailable'
}

/** Translates a connection that was lost, or a server that refuses to work; other errors stay as they are. */
export function unavailableOr(error: unknown): unknown {
  if (!isLostConnection(error)) return error
  const message = isReadOnly(error) ? READ_ONLY_SENTENCE : 'The database did not answer.'
  return new DatabaseUnavailable(message, { cause: error })
}

export const READ_ONLY_SENTENCE =
  'The database is read-only: DATABASE_URL leads to a standby, or default_transaction_read_only is on.'

export const DISK_FULL_SENTENCE = 'The disk of Postgres is full (53100).'

/** SQLSTATE read_only_sql_transaction: after a failover, or when a hosted server has run out of disk. */
function isReadOnly(error: unknown): boolean {
  return (error as { code?: string }).code === '25006'
}

/** What a client is told about a database that answers, and refuses to work; null: it did not answer. */
export function refusalOf({ cause }: DatabaseUnavailable): 'disk-full' | 'read-only' | null {
  if (isReadOnly(cause ?? {})) return 'read-only'
  return (cause as { code?: string } | undefined)?.code === '53100' ? 'disk-full' : null
}

/** With one of these, Postgres ends the connection or refuses to open it, whatever the code says: none of them is about the statement. */
const ENDS_CONNECTION = ['FATAL', 'PANIC']

/**
 * Connection classes of SQLSTATE (08, 57P), a login that is refused (28, 3D000), a statement that the server ended (57014), resources or
 * files that it lacks (53, 58), or an error of the socket itself.
 */
export function isLostConnection(error: unknown): boolean {
  const { code, message, severity } = error as { code?: string; message?: string; severity?: string }
  if (severity && ENDS_CONNECTION.includes(severity)) return true
  if (code && /^(08|28|3D000|57P|57014|53[0-9]{3}|58|25P0[34]|25006)/.test(code)) return true
  if (code && /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOST|ENET)/.test(code)) return true
  return /Connection terminated|connection timeout|Query read timeout|timeout exceeded when trying to connect|Client has encountered a connection error/i.test(
    message ?? '',
  )
}

/** SQLSTATE insufficient_privilege, also of a migration, which wraps what it met. */
export function isInsufficientPrivilege(error: unknown): boolean {
  const { code, cause } = error as { code?: string; cause?: { code?: string } }
  return (code ?? cause?.code) === '42501'
}

/** The statement itself was at fault (a value, a constraint), so the same neighbours would do better without it. */
export function isDataError(error: unknown): boolean {
  return /^(22|23)/.test((error as { code?: string }).code ?? '')
}

export function isMissingPartition(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string }
  return code === '23514' && /no partition of relation/.test(message ?? '')
}

/** Deadlock or serialisation failure: nothing was written, and the same statement may succeed now. */
export function isPassingConflict(error: unknown): boolean {
  return /^(40P01|40001)$/.test((error as { code?: string }).code ?? '')
}
