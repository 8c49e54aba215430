/** pg 8 treats these like verify-full, while libpq (psql and most other clients) verifies less or nothing. */
const LIBPQ_MODES = ['require', 'verify-ca']

/**
 * Gives `sslmode` its libpq meaning: `require` encrypts and does not verify, unless sslrootcert is given.
 * https://github.com/brianc/node-postgres/tree/master/packages/pg-connection-string#tcp-connections
 */
export function driverUrl(url: string): string {
  const parsed = new URL(url)
  if (!LIBPQ_MODES.includes(parsed.searchParams.get('sslmode') ?? '')) return url
  if (parsed.searchParams.has('uselibpqcompat')) return url
  parsed.searchParams.set('uselibpqcompat', 'true')
  return parsed.href
}

/** Host and port for messages, without user and password. */
export function serverOf(url: string): string {
  const { hostname, port, searchParams } = new URL(url)
  return searchParams.get('host') ?? `${hostname || 'localhost'}:${port || '5432'}`
}

export type ConnectionTarget = { host: string; port: number; database: string }

/** Where a client connects to, without user and password. */
export function targetOf(url: string): ConnectionTarget {
  const { hostname, port, pathname, searchParams } = new URL(url)
  return {
    host: searchParams.get('host') ?? (hostname.replace(/^\[|\]$/g, '') || 'localhost'),
    port: Number(port || 5432),
    database: decodeURIComponent(pathname.slice(1)) || 'postgres',
  }
}
