import { Resolver } from 'node:dns/promises'

const TIMEOUT_MS = 3_000
const TRIES = 2

export type DnsLookup = (name: string, type: 'CNAME' | 'MX' | 'TXT') => Promise<string[] | null>

/** Values at a name, [] when there are none, null when DNS did not answer. MX as `10 host`. `servers`: instead of the system's. */
export function dnsLookup(servers?: readonly string[]): DnsLookup {
  return async function lookup(name, type) {
    const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES })
    if (servers) resolver.setServers(servers)
    try {
      if (type === 'CNAME') return await resolver.resolveCname(name)
      if (type === 'TXT') return (await resolver.resolveTxt(name)).map(parts => parts.join(''))
      return (await resolver.resolveMx(name)).map(({ priority, exchange }) => `${priority} ${exchange}`)
    } catch (error) {
      return NOTHING_THERE.has((error as NodeJS.ErrnoException).code ?? '') ? [] : null
    }
  }
}

const NOTHING_THERE = new Set(['ENODATA', 'ENOTFOUND'])
