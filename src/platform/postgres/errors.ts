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

/** The message is one sentence for the operator: the reason and what to do. */
export class CannotConnect extends Error {
  override name = 'CannotConnect'
}

type Coded = Error & { code?: string }

/** The wordings of Postgres, PgBouncer and hosted servers. */
const SSL_DEMANDED = /no encryption|SSL off|SSL (connection )?(is )?required|connection is insecure/i
const NO_ANSWER = /timeout expired|connection timeout|Query read timeout|settings were not applied in time/i

/** Why connecting failed, in one sentence; null for any other error. */
export function connectSentence(error: unknown, server = 'the database'): string | null {
  const { code = '' } = error as Coded
  // The error for a host name with several addresses has a code but no message.
  const message = (error as Coded).message || code
  if (SSL_DEMANDED.test(message))
    return `DATABASE_URL: ${server} demands SSL (${message}). Add sslmode=require to it, or sslmode=verify-full to verify the server's certificate as well.`
  // PgBouncer uses one code for everything, so its messages are compared.
  if (code === '28P01' || /(password|SASL) authentication failed|auth failed/.test(message))
    return `DATABASE_URL: the user or the password is wrong (${message}).`
  if (code === '3D000' || /no such database/.test(message))
    return `DATABASE_URL: the database does not exist (${message}). Create it first.`
  if (code === '28000') return `DATABASE_URL: ${server} does not admit this user from here (${message}).`
  if (code === '53300') return `${server} has no connection left (${message}). Raise max_connections, or close others.`
  if (code === '57P03') return `${server} is starting or stopping (${message}). Try again in a moment.`
  return networkSentence(code, message, server) ?? sslSentence(code, message, server)
}

/** The same for everybody who asks for the state of this process: without names and addresses. */
export function refusalReason(error: unknown): string {
  const { code = '' } = error as Coded
  if (/^28/.test(code)) return `Postgres refuses the login of this process (${code}).`
  if (code === '3D000') return 'The database of this process does not exist (3D000).'
  if (code === '53300') return 'Postgres has no connection left (53300).'
  if (code === '57P03') return 'Postgres is starting or stopping (57P03).'
  if (code === 'ECONNREFUSED') return 'Nothing listens at the address of Postgres (ECONNREFUSED).'
  return code ? `Postgres cannot be used (${code}).` : 'Postgres did not answer in time.'
}

function networkSentence(code: string, message: string, server: string): string | null {
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return `DATABASE_URL: the host name of the database cannot be found (${server}).`
  if (code === 'ECONNREFUSED') return `DATABASE_URL: nothing listens at ${server}. Is Postgres running there?`
  if (/^(ETIMEDOUT|EHOST|ENET)/.test(code) || NO_ANSWER.test(message))
    return `DATABASE_URL: no answer from ${server} (${message}). Is the address right, and does a firewall let this machine through?`
  return null
}

function sslSentence(code: string, message: string, server: string): string | null {
  if (/server does not support SSL/.test(message))
    return `DATABASE_URL: sslmode demands SSL, and ${server} offers none. Turn it on there (ssl = on), or set sslmode=disable on a network you trust.`
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `DATABASE_URL: the certificate of ${server} is for another host (${message}). Connect by a name that it has, or set sslmode=verify-ca to verify its authority only.`
  if (/CERT|VERIFY|SIGNATURE/.test(code))
    return `DATABASE_URL: the certificate of ${server} could not be verified (${message}). Name the file of its authority with sslrootcert=FILE, or set sslmode=require to encrypt without verifying.`
  return null
}
