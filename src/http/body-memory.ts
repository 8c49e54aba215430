import type { FastifyReply, FastifyRequest } from 'fastify'
import { FairSlots } from '../pipeline/fair-slots.ts'
import { Problem } from './problem.ts'

export type BodyMemoryOptions = {
  /** Bytes of bodies at once in this process. While it is worked on, a body takes about five times its size. */
  total: number
  /** Of them, for one company or address. */
  perKey: number
  /** What is smaller is bounded by the number of connections. */
  countFrom: number
  patienceMs: number
}

export const SEND_MEMORY: BodyMemoryOptions = {
  total: 96 * 1024 * 1024,
  // One of the largest batches, and as much for each of two others.
  perKey: 32 * 1024 * 1024,
  countFrom: 64 * 1024,
  patienceMs: 10_000,
}
/**
 * Anybody may post events; who it was is known when the body has been read. Most of them have a few KB: they are not kept waiting by
 * large ones that hang.
 */
export const EVENT_MEMORY: BodyMemoryOptions = {
  total: 64 * 1024 * 1024,
  perKey: 16 * 1024 * 1024,
  countFrom: 32 * 1024,
  patienceMs: 5_000,
}

const WAITING_PER_KEY = 64

/**
 * A hook for before the body is read: it sets memory aside for as many bytes as are announced, until the answer is sent. Companies
 * take turns; whoever waits costs nothing but a connection.
 */
export function boundBodies({ total, perKey, countFrom, patienceMs }: BodyMemoryOptions, keyOf: KeyOf) {
  const memory = new FairSlots({ total, perKey, waitingPerKey: WAITING_PER_KEY })
  return async function holdMemory(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const bytes = announcedBytes(request)
    if (bytes < countFrom) return
    const release = await memory.acquire(keyOf(request), bytes, patienceMs)
    if (!release) throw new Problem('SERVER_BUSY', { headers: { 'retry-after': '1' } })
    // Gone while it waited: there is no answer whose end would release it.
    if (request.raw.socket.destroyed) release()
    else reply.raw.once('close', release)
  }
}

type KeyOf = (request: FastifyRequest) => string

/** In chunks, it may become as large as the route allows. */
function announcedBytes({ headers, routeOptions }: FastifyRequest): number {
  if (headers['transfer-encoding'] !== undefined) return routeOptions.bodyLimit
  return Math.min(Number(headers['content-length'] ?? 0) || 0, routeOptions.bodyLimit)
}
