import type { FastifyInstance } from 'fastify'
import { Problem } from './problem.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

type Methods = Map<string, Set<string>>

/** Called before the routes of this scope: returns the methods of each path, once the routes are there. */
export function collectMethods(app: FastifyInstance): Methods {
  const methods: Methods = new Map()
  app.addHook('onRoute', ({ url, method }) => {
    methods.set(url, new Set([...(methods.get(url) ?? []), ...[method].flat()]))
  })
  return methods
}

/**
 * Called after the routes of the native API: a known path with another method is 405, before the key and the body are looked at. Routes of
 * their own, because GET /v1/email/send would otherwise ask for the e-mail with the id "send".
 */
export function refuseOtherMethods(app: FastifyInstance, methods: Methods): void {
  for (const [url, taken] of [...methods]) {
    if (!url.startsWith('/v1/')) continue
    const allowed = [...taken].sort().join(', ')
    app.route({
      method: METHODS.filter(one => !taken.has(one)),
      url,
      schema: { hide: true },
      onRequest: async ({ method }) => {
        const detail = `${url} does not take ${method}; it takes ${allowed}.`
        throw new Problem('METHOD_NOT_ALLOWED', { detail, headers: { allow: allowed } })
      },
      handler: () => {
        throw new Error('the onRequest hook refuses every request')
      },
    })
  }
}
