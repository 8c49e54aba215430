import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { Problem, type ProblemExtras } from './problem.ts'

/** 404, not 422, for an id that is no UUID: it is the id of nothing. */
export function uuidParam<Name extends string>(
  { params }: FastifyRequest,
  name: Name,
  missing: ProblemExtras = {},
): string {
  const value = (params as Record<Name, string>)[name]
  if (!z.uuid().safeParse(value).success) throw new Problem('NOT_FOUND', missing)
  return value
}
