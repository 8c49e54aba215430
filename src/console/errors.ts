import { EmbeddedPostgresError } from '../platform/postgres/embedded/index.ts'
import {
  CannotConnect,
  connectSentence,
  DatabaseUnavailable,
  isInsufficientPrivilege,
  isLostConnection,
} from '../platform/postgres/errors.ts'
import { DatabaseIsNewerError, DatabaseNotMigrated } from '../platform/postgres/migrate.ts'
import { ConfigError, databaseRole } from '../settings/config.ts'
import { CannotListen } from '../web/cannot-listen.ts'

/** Their messages are written for the operator. */
const PRINTABLE_ERRORS = [EmbeddedPostgresError, DatabaseIsNewerError, DatabaseNotMigrated, CannotConnect]

export const isBadSetting = (error: unknown): error is ConfigError => error instanceof ConfigError

/** One sentence for a role that lacks privileges; null for other errors. */
export function privilegeSentence(error: unknown): string | null {
  if (!isInsufficientPrivilege(error)) return null
  const role = databaseRole()
  return `The role ${role ?? 'of DATABASE_URL'} lacks a privilege in the database (${(error as Error).message}). Use the role that owns its tables in DATABASE_URL, or grant what is missing.`
}

type Coded = Error & { code?: string; address?: string; port?: number }

/** The message for an error of the environment, such as a database that cannot be reached; null for bugs. */
export function sentenceFor(error: unknown): string | null {
  const coded = error as Coded
  if (PRINTABLE_ERRORS.some(kind => error instanceof kind)) return coded.message
  if (error instanceof CannotListen) return cannotListen(error)
  if (coded.code === 'EACCES') return `No permission: ${coded.message}.`
  const sentence = connectSentence(error)
  if (sentence) return sentence
  if (error instanceof DatabaseUnavailable || isLostConnection(error))
    return `The database cannot be reached (${coded.message}).`
  return null
}

function cannotListen({ setting, cause }: CannotListen): string {
  const { code, address: host, port, message } = cause as Coded
  if (code === 'EADDRINUSE')
    return `${setting}: ${host}:${port} is in use by another program (EADDRINUSE). Stop it, or set ${setting} to a free port.`
  if (code === 'EACCES')
    return `${setting}: this user may not listen on ${host}:${port} (EACCES). Set ${setting} to a port above 1023.`
  return `HOST: the gateway cannot listen there (${message}).`
}
