import { EmbeddedPostgresError } from '../db/embedded/index.ts'
import { DatabaseIsNewerError } from '../db/migrate.ts'
import { DatabaseUnavailable, isLostConnection } from '../db/pool.ts'
import { CannotListen } from '../http/cannot-listen.ts'

type Coded = Error & { code?: string; address?: string; port?: number }

/** One clear sentence for what goes wrong outside of the program; null for bugs. */
export function sentenceFor(error: unknown): string | null {
  const coded = error as Coded
  if (error instanceof EmbeddedPostgresError || error instanceof DatabaseIsNewerError) return coded.message
  if (error instanceof CannotListen) return cannotListen(error.cause as Coded)
  switch (coded.code) {
    case 'EACCES':
      return `No permission: ${coded.message}.`
    case '28P01':
    case '28000':
      return `DATABASE_URL: the database refused the user or the password (${coded.message}).`
    case '3D000':
      return `DATABASE_URL: ${coded.message}. Create the database first.`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'DATABASE_URL: the host name of the database cannot be found.'
    case 'ECONNREFUSED':
      return `DATABASE_URL: nothing answers at ${address(coded)}. Is Postgres running there?`
  }
  if (error instanceof DatabaseUnavailable || isLostConnection(error))
    return `The database cannot be reached (${coded.message}).`
  return null
}

function address(error: Coded): string {
  const first = (error as unknown as AggregateError).errors?.[0] as Coded | undefined
  const { address: host, port } = first ?? error
  return `${host}:${port}`
}

function cannotListen({ code, address: host, port, message }: Coded): string {
  if (code === 'EADDRINUSE')
    return `PORT: ${host}:${port} is already taken by another program. Stop it, or set PORT to a free one.`
  if (code === 'EACCES') return `PORT: this user may not listen on ${host}:${port}. Set PORT to one above 1023.`
  return `HOST: the gateway cannot listen there (${message}).`
}
