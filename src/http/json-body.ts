import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import sjson from 'secure-json-parse'
import { fieldPath } from '../contracts/refusal.ts'
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
