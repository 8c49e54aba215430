import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import sjson from 'secure-json-parse'
import { FairSlots } from '../platform/semaphores.ts'
import { fieldPath } from '../platform/text/refusal.ts'
import { invalidField, Problem } from './problem.ts'

const MAX_DEPTH = 32

declare module 'fastify' {
  interface FastifyRequest {
    /** The parsed body before the schema adds defaults and normalises. */
    writtenBody: unknown
  }
}

/** JSON with a bounded depth, without `__proto__`, and without text that Postgres cannot store. */
export function acceptJson(app: FastifyInstance): void {
  app.decorateRequest('writtenBody', null)
  app.removeContentTypeParser(['text/plain'])
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, bytes: Buffer) => {
      if (bytes.length === 0) return undefined
      const body = parse(textOf(bytes, request))
      refuseUnsafeShape(body)
      request.writtenBody = body
      return body
    },
  )
}

/** Decoding would replace what is not UTF-8, and the e-mail would be sent with the wrong letters. */
function textOf(bytes: Buffer, { headers }: FastifyRequest): string {
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw new Problem('UNSUPPORTED_MEDIA_TYPE', {
      detail: `The body must not be compressed: Content-Encoding ${quoted(encoding)} is not supported.`,
    })
  const charset = CHARSET.exec(headers['content-type'] ?? '')?.[1]
  if (charset !== undefined && !CHARSETS.has(charset.toLowerCase()))
    throw new Problem('UNSUPPORTED_MEDIA_TYPE', {
      detail: `The body must be UTF-8: the charset ${quoted(charset)} of Content-Type is not supported.`,
    })
  if (!isUtf8(bytes)) throw new Problem('INVALID_JSON', { detail: 'The body is not valid UTF-8.' })
  return bytes.toString()
}

const CHARSET = /;\s*charset\s*=\s*"?([^\s";]+)/i
const CHARSETS: ReadonlySet<string> = new Set(['utf-8', 'utf8', 'us-ascii'])

const quoted = (value: string) => JSON.stringify(value.slice(0, 40))

function parse(text: string): unknown {
  try {
    return sjson.parse(text, null, { protoAction: 'error', constructorAction: 'error' })
  } catch (error) {
    const message = (error as Error).message
    const detail = /forbidden prototype/i.test(message)
      ? 'The keys __proto__ and constructor.prototype are not accepted.'
      : undefined
    throw new Problem('INVALID_JSON', detail ? { detail } : {})
  }
}

/** A batch of 100 e-mails with every field has about ten thousand; validating millions would block the event loop. */
const MAX_VALUES = 50_000

type Visit = { value: object; depth: number; key: PropertyKey; parent: Visit | null }

/** Iterative, because the client chooses depth and size; the path is built only for an error. */
function refuseUnsafeShape(body: unknown): void {
  if (typeof body === 'string') refuseUnstorableText(body, null, [])
  if (body === null || typeof body !== 'object') return
  const stack: Visit[] = [{ value: body, depth: 1, key: '', parent: null }]
  let values = 0
  for (let visit = stack.pop(); visit; visit = stack.pop()) {
    if (visit.depth > MAX_DEPTH)
      throw new Problem('INVALID_JSON', { detail: `The body is nested deeper than ${MAX_DEPTH} levels.` })
    values += Array.isArray(visit.value) ? visit.value.length : Object.keys(visit.value).length
    if (values > MAX_VALUES)
      throw new Problem('INVALID_JSON', { detail: `The body has more than ${MAX_VALUES} values.` })
    for (const [key, inner] of entriesOf(visit.value)) {
      if (typeof key === 'string') refuseUnstorableText(key, visit, [])
      if (typeof inner === 'string') refuseUnstorableText(inner, visit, [key])
      else if (inner !== null && typeof inner === 'object')
        stack.push({ value: inner, depth: visit.depth + 1, key, parent: visit })
    }
  }
}

function entriesOf(value: object): Iterable<[string | number, unknown]> {
  return Array.isArray(value) ? value.entries() : Object.entries(value)
}

/** NUL and unpaired surrogates are valid JSON, but Postgres cannot store them as text. */
function refuseUnstorableText(text: string, parent: Visit | null, last: PropertyKey[]): void {
  if (!text.includes('\u0000') && text.isWellFormed()) return
  const path = last
  for (let visit = parent; visit?.parent; visit = visit.parent) path.unshift(visit.key)
  throw invalidField(fieldPath(path), 'must not contain NUL or unpaired surrogate characters', 'INVALID_CHARACTERS')
}

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

/** 10 MB of attachments in base64, 512 KB of HTML with JSON escapes, and the other fields. */
export const SEND_BODY_LIMIT = 16 * 1024 * 1024
export const BATCH_BODY_LIMIT = 32 * 1024 * 1024
/** 512 KB of HTML and of text, with JSON escapes. */
export const TEMPLATE_BODY_LIMIT = 4 * 1024 * 1024
/** 64 KB of variables with JSON escapes. */
export const VARIABLES_BODY_LIMIT = 256 * 1024
/** 5 MB of CSV with JSON escapes, such as one for each line break and quotation mark. */
export const IMPORT_BODY_LIMIT = 8 * 1024 * 1024
/** For all other routes. */
export const SMALL_BODY_LIMIT = 64 * 1024
/** SNS messages have at most 256 KB, which JSON escapes may double. Not above the CHECK constraint of provider_events.payload. */
export const PROVIDER_EVENT_LIMIT = 1_000_000
/** Characters of one part of a path, such as an id. */
export const MAX_PARAM_LENGTH = 200
