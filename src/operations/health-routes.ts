import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Metrics } from '../figures/metrics.ts'
import { FULL_BYTES, findDiskProblem, NEEDED_BYTES } from '../platform/postgres/embedded/index.ts'
import { DISK_FULL_SENTENCE, READ_ONLY_SENTENCE } from '../platform/postgres/errors.ts'
import type { Availability, Database } from '../platform/postgres/pool.ts'
import { problemAnswers } from '../web/openapi.ts'
import { Problem } from '../web/problem.ts'
import type { App } from '../web/server.ts'

const healthSchema = z.object({ status: z.literal('ok') })
const unauthenticated = { tags: ['Operations'], security: [] }

export type OperationRouteDeps = {
  db: Database
  metrics: Metrics
  metricsToken?: string | undefined
  /** Data folder of the embedded database, whose disk may be full; null for another Postgres. */
  folder: string | null
}

/** /metrics and /health: on the port of the API, and on METRICS_PORT. */
export function operationRoutes(app: App, { db, metrics, metricsToken, folder }: OperationRouteDeps): void {
  app.get(
    '/health/live',
    { schema: { summary: 'The process answers', ...unauthenticated, response: { 200: healthSchema } } },
    async () => ({ status: 'ok' as const }),
  )

  app.get(
    '/health/ready',
    {
      schema: {
        summary: 'It can accept e-mails',
        ...unauthenticated,
        response: { 200: healthSchema, ...problemAnswers(503) },
      },
    },
    async () => {
      const availability = await db.availability()
      // A server whose disk is full still answers queries.
      const { state } = availability
      const problem = folder && (await findDiskProblem(folder, state === 'silent' ? NEEDED_BYTES : FULL_BYTES))
      if (state === 'writable' && !problem) return { status: 'ok' as const }
      const detail = problem || `${whyUnavailable(availability)} Nothing can be accepted.`
      throw new Problem('DATABASE_UNAVAILABLE', { detail, headers: { 'retry-after': '1' } })
    },
  )

  app.get(
    '/metrics',
    {
      ...(metricsToken !== undefined && { onRequest: requireToken(metricsToken) }),
      schema: {
        summary: 'For Prometheus; with METRICS_TOKEN set, needs it as Authorization: Bearer',
        ...unauthenticated,
        produces: ['text/plain'],
        response: { 200: z.string(), ...problemAnswers(401, 503) },
      },
    },
    async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()),
  )
}

function whyUnavailable(availability: Availability): string {
  if (availability.state === 'silent') return availability.reason
  return availability.state === 'disk-full' ? DISK_FULL_SENTENCE : READ_ONLY_SENTENCE
}

/** timingSafeEqual needs equal lengths, and digests also hide the length of the token. */
function requireToken(token: string) {
  const expected = digest(token)
  return async (request: FastifyRequest): Promise<void> => {
    const [, given = ''] = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '') ?? []
    if (!timingSafeEqual(digest(given), expected))
      throw new Problem('METRICS_UNAUTHENTICATED', { headers: { 'www-authenticate': 'Bearer realm="metrics"' } })
  }
}

const digest = (text: string) => createHash('sha256').update(text).digest()
