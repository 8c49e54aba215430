import type { FastifyReply, FastifyRequest } from 'fastify'
import { FairSlots } from '../runtime/fair-semaphore.ts'
import { Problem } from './problem.ts'

export type BodyMemoryOptions = {
  /** Bytes of request bodies at once in this process. Parsing and validating a body takes about five times its size. */
  total: number
  /** Share of one company or client network. */
  perKey: number
  /** Smaller bodies are not counted: the connection limit bounds them. */
  countFrom: number
  maxWaitMs: number
}

export const SEND_MEMORY: BodyMemoryOptions = {
  total: 96 * 1024 * 1024,
  // The largest batch, so that three companies can send one at the same time.
  perKey: 32 * 1024 * 1024,
  countFrom: 64 * 1024,
  maxWaitMs: 10_000,
}
/** Templates are written by people. */
export const TEMPLATE_MEMORY: BodyMemoryOptions = {
  total: 32 * 1024 * 1024,
  perKey: 8 * 1024 * 1024,
  countFrom: 64 * 1024,
  maxWaitMs: 10_000,
}
/** Files that administrators import. */
export const IMPORT_MEMORY: BodyMemoryOptions = {
  total: 32 * 1024 * 1024,
  perKey: 16 * 1024 * 1024,
  countFrom: 64 * 1024,
  maxWaitMs: 10_000,
}
/**
 * The sender of an event is authenticated only after its body has been read. Most events have a few KB and are not counted, so that large
 * bodies that arrive slowly cannot delay them.
 */
export const EVENT_MEMORY: BodyMemoryOptions = {
  total: 64 * 1024 * 1024,
  perKey: 16 * 1024 * 1024,
  countFrom: 32 * 1024,
  maxWaitMs: 5_000,
}

const WAITING_PER_KEY = 64

/**
 * `onRequest` hook that reserves memory for the announced bytes until the answer is sent, fairly between keys. A waiting request holds a
 * connection and no memory.
 */
export function boundBodies({ total, perKey, countFrom, maxWaitMs }: BodyMemoryOptions, keyOf: KeyOf) {
  const memory = new FairSlots({ total, perKey, waitingPerKey: WAITING_PER_KEY })
  return async function reserveMemory(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const bytes = announcedBytes(request)
    if (bytes < countFrom) return
    const release = await memory.acquire(keyOf(request), bytes, maxWaitMs)
    if (!release) throw new Problem('SERVER_BUSY', { headers: { 'retry-after': '1' } })
    // The client disconnected during the wait: 'close' has been emitted already.
    if (request.raw.socket.destroyed) release()
    else reply.raw.once('close', release)
  }
}

type KeyOf = (request: FastifyRequest) => string

/** A chunked body announces no length, so it counts as the largest that the route allows. */
function announcedBytes({ headers, routeOptions }: FastifyRequest): number {
  if (headers['transfer-encoding'] !== undefined) return routeOptions.bodyLimit
  return Math.min(Number(headers['content-length'] ?? 0) || 0, routeOptions.bodyLimit)
}
