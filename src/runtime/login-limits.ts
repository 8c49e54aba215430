import { isIPv4, isIPv6 } from 'node:net'
import { LRUCache } from 'lru-cache'

/** Failures before the first wait; each one after them doubles the wait. */
const FREE_FAILURES = { byNameAndNetwork: 5, byNetwork: 20, bySite: 100 }
const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 60_000
/** The count starts again after this time without a failure. */
const RESET_MS = 15 * 60_000
const MAX_ENTRIES = 10_000

type Failures = { count: number; lastMs: number; waitUntilMs: number }

/**
 * Failed logins by name and network, by network, and by site. Not by name alone: anybody who knows an administrator's name could lock
 * that administrator out. Kept in the memory of each process.
 */
export class LoginLimits {
  readonly #byNameAndNetwork = new LRUCache<string, Failures>({ max: MAX_ENTRIES })
  readonly #byNetwork = new LRUCache<string, Failures>({ max: MAX_ENTRIES })
  readonly #bySite = new LRUCache<string, Failures>({ max: MAX_ENTRIES })
  readonly #succeeded = new LRUCache<string, true>({ max: MAX_ENTRIES })

  /** 0: the login may be tried now. */
  waitMs(name: string, network: string, nowMs: number): number {
    const found = [this.#byNameAndNetwork.get(pair(name, network)), this.#byNetwork.get(network)]
    // A site may have many customers: failures of the others do not count for a network with a successful login.
    if (!this.hasSucceeded(network)) found.push(this.#bySite.get(siteOf(network)))
    return Math.max(0, ...found.map(one => (one ? one.waitUntilMs - nowMs : 0)))
  }

  /** true: with this failure the name has to wait here for the first time. */
  failed(name: string, network: string, nowMs: number): boolean {
    const failures = count(this.#byNameAndNetwork, pair(name, network), FREE_FAILURES.byNameAndNetwork, nowMs)
    count(this.#byNetwork, network, FREE_FAILURES.byNetwork, nowMs)
    count(this.#bySite, siteOf(network), FREE_FAILURES.bySite, nowMs)
    return failures === FREE_FAILURES.byNameAndNetwork + 1
  }

  /** The network keeps its count of failures: others there may be guessing passwords. */
  succeeded(name: string, network: string): void {
    this.#byNameAndNetwork.delete(pair(name, network))
    this.#succeeded.set(network, true)
  }

  hasSucceeded(network: string): boolean {
    return this.#succeeded.has(network)
  }
}

const pair = (name: string, network: string) => `${network} ${name.slice(0, 64)}`

function count(all: LRUCache<string, Failures>, key: string, free: number, nowMs: number): number {
  const before = all.get(key)
  const failures = (before && nowMs - before.lastMs < RESET_MS ? before.count : 0) + 1
  const doublings = Math.min(failures - free, 30)
  const waitMs = doublings > 0 ? Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (doublings - 1)) : 0
  all.set(key, { count: failures, lastMs: nowMs, waitUntilMs: nowMs + waitMs })
  return failures
}

/** The smallest range that one client controls: an IPv4 address, or the IPv6 /64 that an internet provider gives to one customer. */
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

/** The /48 that IPv6 customers get on request, which holds 65 536 networks. An IPv4 address is its own site. */
export function siteOf(network: string): string {
  return network.replace(/:[^:]*::\/64$/, '::/48')
}
