import type { FastifyInstance, FastifyRequest } from 'fastify'
import sjson from 'secure-json-parse'
import { fieldPath } from '../contracts/refusal.ts'
import { Problem } from './problem.ts'

const MAX_DEPTH = 32

declare module 'fastify' {
  interface FastifyRequest {
    /** The body as the caller wrote it, before the schema filled in and normalised. */
    writtenBody: unknown
  }
}

/** JSON with a bounded depth, without `__proto__`, and without text that Postgres cannot keep. */
export function acceptJson(app: FastifyInstance): void {
  app.decorateRequest('writtenBody', null)
  app.removeContentTypeParser(['text/plain'])
  app.addContentTypeParser('application/json', { parseAs: 'string' }, async (request: FastifyRequest, text: string) => {
    if (text.length === 0) return undefined
    const body = parse(text)
    refuseHostileShape(body)
    request.writtenBody = body
    return body
  })
}

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

type Visit = { value: unknown; depth: number; path: PropertyKey[] }

/** Iterative: the depth is the attacker's choice. */
function refuseHostileShape(body: unknown): void {
  const stack: Visit[] = [{ value: body, depth: 0, path: [] }]
  for (let visit = stack.pop(); visit; visit = stack.pop()) {
    const { value, depth, path } = visit
    if (typeof value === 'string') refuseHostileText(value, path)
    if (value === null || typeof value !== 'object') continue
    if (depth >= MAX_DEPTH)
      throw new Problem('INVALID_JSON', { detail: `The body is nested deeper than ${MAX_DEPTH} levels.` })
    for (const key of Object.keys(value)) {
      refuseHostileText(key, path)
      const inner = (value as Record<string, unknown>)[key]
      // Numbers and booleans cannot be hostile.
      if (typeof inner === 'string' || (typeof inner === 'object' && inner !== null)) {
        stack.push({ value: inner, depth: depth + 1, path: [...path, Array.isArray(value) ? Number(key) : key] })
      }
    }
  }
}

/** NUL and unpaired surrogates are JSON, but no database text. */
function refuseHostileText(text: string, path: PropertyKey[]): void {
  if (!text.includes('\u0000') && text.isWellFormed()) return
  const message = 'must not contain NUL or unpaired surrogate characters'
  throw new Problem('INVALID_PAYLOAD', { errors: [{ path: fieldPath(path), code: 'INVALID_PAYLOAD', message }] })
}
