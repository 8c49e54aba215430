import { Agent as HttpAgent } from 'node:http'
import { type AgentOptions, Agent as HttpsAgent } from 'node:https'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import { markHandshakeError } from './thrown.ts'

/** Shorter than the idle timeout of any server, so that no connection is closed while a message is written to it. */
const IDLE_MS = 15_000

export type AgentLimits = { maxSockets: number; handshakeMs: number }

export function keepAliveAgents({ maxSockets, handshakeMs }: AgentLimits) {
  const options = { keepAlive: true, maxSockets, timeout: IDLE_MS, scheduling: 'lifo' as const }
  return { httpAgent: new HttpAgent(options), httpsAgent: new HandshakeTimeoutAgent(options, handshakeMs) }
}

/**
 * Adds a timeout for the TLS handshake, which Node does not have: a peer that is silent during the handshake would look like one that
 * took the message. Errors before the end of the handshake get a code which shows that nothing was sent.
 */
class HandshakeTimeoutAgent extends HttpsAgent {
  readonly #handshakeMs: number

  constructor(options: AgentOptions, handshakeMs: number) {
    super(options)
    this.#handshakeMs = handshakeMs
  }

  override createConnection(...args: Parameters<HttpsAgent['createConnection']>): Duplex | null | undefined {
    const socket = super.createConnection(...args)
    if (socket instanceof TLSSocket) this.#watch(socket)
    return socket
  }

  #watch(socket: TLSSocket): void {
    const timer = setTimeout(() => {
      const message = `The peer was silent for ${this.#handshakeMs} ms before secure TLS connection was established`
      socket.destroy(Object.assign(new Error(message), { code: 'ETIMEDOUT' }))
    }, this.#handshakeMs)
    socket.once('error', markHandshakeError).once('close', () => clearTimeout(timer))
    socket.once('secureConnect', () => {
      clearTimeout(timer)
      socket.off('error', markHandshakeError)
    })
  }
}
