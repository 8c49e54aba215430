import { isIPv4, isIPv6 } from 'node:net'

/** Failures in a row that cost nothing; each one after them doubles the wait. */
const FREE_FAILURES = { byNameAndNetwork: 5, byNetwork: 20, bySite: 100 }
const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 60_000
/** After so long without another failure, all is forgotten. */
const FORGET_MS = 15 * 60_000
const MAX_REMEMBERED = 10_000

type Failures = { count: number; lastMs: number; waitUntilMs: number }

/**
 * Failed logins, by name and network, by network alone, and by site. Never by the name alone: whoever knows an administrator's
 * name could lock them out with it. In memory, bounded, each process by itself.
 */
export class LoginLimits {
  readonly #byNameAndNetwork = new Map<string, Failures>()
  readonly #byNetwork = new Map<string, Failures>()
  readonly #bySite = new Map<string, Failures>()
  readonly #known = new Map<string, true>()

  /** How long a login has to wait; 0: it may be tried. */
  waitMs(name: string, network: string, nowMs: number): number {
    const found = [this.#byNameAndNetwork.get(pair(name, network)), this.#byNetwork.get(network)]
    // A site may have many customers: what the others do counts only where nobody has logged in.
    if (!this.knows(network)) found.push(this.#bySite.get(siteOf(network)))
    return Math.max(0, ...found.map(one => (one ? one.waitUntilMs - nowMs : 0)))
  }

  failed(name: string, network: string, nowMs: number): void {
    count(this.#byNameAndNetwork, pair(name, network), FREE_FAILURES.byNameAndNetwork, nowMs)
    count(this.#byNetwork, network, FREE_FAILURES.byNetwork, nowMs)
    count(this.#bySite, siteOf(network), FREE_FAILURES.bySite, nowMs)
  }

  /** Somebody who mistyped starts afresh. The network keeps its count: others there may be guessing. */
  succeeded(name: string, network: string): void {
    this.#byNameAndNetwork.delete(pair(name, network))
    put(this.#known, network, true)
  }

  /** Somebody has logged in from there. */
  knows(network: string): boolean {
    return this.#known.has(network)
  }
}

const pair = (name: string, network: string) => `${network} ${name.slice(0, 64)}`

function count(all: Map<string, Failures>, key: string, free: number, nowMs: number): void {
  const before = all.get(key)
  const failures = (before && nowMs - before.lastMs < FORGET_MS ? before.count : 0) + 1
  const doublings = Math.min(failures - free, 30)
  const waitMs = doublings > 0 ? Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (doublings - 1)) : 0
  put(all, key, { count: failures, lastMs: nowMs, waitUntilMs: nowMs + waitMs })
}

/** The last ones stay. */
function put<T>(all: Map<string, T>, key: string, value: T): void {
  all.delete(key)
  all.set(key, value)
  if (all.size > MAX_REMEMBERED) all.delete(all.keys().next().value!)
}

/** What one guesser has: an IPv4 address, or the 64 bits of IPv6 that a provider gives to one customer. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped) return mapped
  if (isIPv4(address) || !isIPv6(address)) return address
  const [head = '', tail] = address.split('%')[0]!.toLowerCase().split('::')
  const front = head === '' ? [] : head.split(':')
  const back = tail ? tail.split(':') : []
  // An IPv4 address at the end takes the place of two groups.
  const groups = front.length + back.length + (/\./.test(address) ? 1 : 0)
  const whole = tail === undefined ? front : [...front, ...Array(Math.max(0, 8 - groups)).fill('0'), ...back]
  return `${whole
    .slice(0, 4)
    .map(group => group.replace(/^0+(?=.)/, ''))
    .join(':')}::/64`
}

/** The 48 bits of IPv6 that whoever asks for them is given: 65 536 networks of one guesser. An IPv4 address is its own site. */
export function siteOf(network: string): string {
  return network.replace(/:[^:]*::\/64$/, '::/48')
}
