/** These mean to libpq (psql, every other client) something weaker than to the driver, which would verify the certificate. */
const AS_IN_LIBPQ = ['require', 'verify-ca']

/**
 * `sslmode` as everybody knows it: `require` encrypts and does not verify, unless sslrootcert is given. The driver's next version
 * reads it so, too, and this one when it is asked to.
 */
export function driverUrl(url: string): string {
  const parsed = new URL(url)
  if (!AS_IN_LIBPQ.includes(parsed.searchParams.get('sslmode') ?? '')) return url
  if (parsed.searchParams.has('uselibpqcompat')) return url
  parsed.searchParams.set('uselibpqcompat', 'true')
  return parsed.href
}

/** For messages: without user, password and parameters. */
export function serverOf(url: string): string {
  const { hostname, port, searchParams } = new URL(url)
  return searchParams.get('host') ?? `${hostname || 'localhost'}:${port || '5432'}`
}
