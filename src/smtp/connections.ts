import { networkOf } from '../runtime/login-limits.ts'

/** Open connections by client network. */
export class ConnectionCounts {
  readonly #perNetwork: number
  readonly #counts = new Map<string, number>()
  readonly #networks = new Map<string, string>()

  constructor(perNetwork: number) {
    this.#perNetwork = perNetwork
  }

  /** false: this network has too many. */
  open(sessionId: string, remoteAddress: string): boolean {
    const network = networkOf(remoteAddress)
    const count = this.#counts.get(network) ?? 0
    if (count >= this.#perNetwork) return false
    this.#counts.set(network, count + 1)
    this.#networks.set(sessionId, network)
    return true
  }

  /** Also called for connections that were refused. */
  close(sessionId: string): void {
    const network = this.#networks.get(sessionId)
    if (network === undefined) return
    this.#networks.delete(sessionId)
    const left = this.#counts.get(network)! - 1
    if (left === 0) this.#counts.delete(network)
    else this.#counts.set(network, left)
  }
}

/** Programs of this machine may log in without TLS: nobody on the network can read it. */
export function isLoopback(address: string): boolean {
  return /^(?:::ffff:)?127\.\d+\.\d+\.\d+$/i.test(address) || address === '::1'
}
