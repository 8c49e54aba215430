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
