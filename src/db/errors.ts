/** The database cannot be reached, or went away in the middle. The caller may try again. */
export class DatabaseUnavailable extends Error {
  override name = 'DatabaseUnavailable'
}

/** SQLSTATE disk_full: repeating helps only when somebody has made room. */
export function isDiskFull({ cause }: DatabaseUnavailable): boolean {
  return (cause as { code?: string } | undefined)?.code === '53100'
}

/** Connection classes of SQLSTATE (08, 57P), a statement that the server ended (57014), too many connections, or an error of the socket itself. */
export function isLostConnection(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string }
  if (code && /^(08|57P|57014|53[0-9]{3}|25P0[34]|25006)/.test(code)) return true
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
