import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { readChanges } from '../db/admin/changed-emails.ts'
import { readQueue } from '../db/admin/queue.ts'
import type { App } from './app.ts'
import { ALIVE, LiveFeed } from './live-feed.ts'
import { problemAnswers } from './openapi.ts'
import { Problem } from './problem.ts'
import type { AdminRouteDeps } from './routes-admin.ts'

/** A browser that does not read is ended, and comes back by itself. */
const MAX_UNREAD_BYTES = 256 * 1024

const schema = {
  summary: 'Counts of the queue and changed e-mails as they happen, as server-sent events; ends with the session',
  tags: ['Admin'],
  security: [{ administrator: [] }],
  produces: ['text/event-stream'],
  response: { 200: z.string(), ...problemAnswers(401, 429, 503) },
}

export type AdminLiveDeps = AdminRouteDeps & { isStillSignedIn: (request: FastifyRequest) => Promise<boolean> }

export function adminLiveRoutes(app: App, { db, onRequest, isStillSignedIn }: AdminLiveDeps): void {
  const feed = new LiveFeed(
    {
      readQueue: () => readQueue(db.pool),
      readChanges: (since, limit) => readChanges(db.pool, since, limit),
    },
    error => app.log.warn({ err: error }, 'Live figures could not be read'),
  )
  // Before Fastify waits for open connections.
  app.addHook('preClose', async () => feed.close())

  // clear: false, because it names nobody.
  const options = { onRequest, config: { clear: false }, schema, exposeHeadRoute: false }
  app.get('/admin/live', options, (request, reply) => {
    if (feed.isFullFor(request.admin!)) throw new Problem('TOO_MANY_LISTENERS', { headers: { 'retry-after': '30' } })
    listen(feed, request, reply, () => isStillSignedIn(request))
  })
}

function listen(feed: LiveFeed, request: FastifyRequest, reply: FastifyReply, isAllowed: () => Promise<boolean>): void {
  const headers = {
    ...reply.getHeaders(),
    'content-type': 'text/event-stream; charset=utf-8',
    'x-accel-buffering': 'no',
  }
  // From here on the answer is ours: Fastify knows no answer that goes on.
  reply.hijack()
  const { raw } = reply
  raw.writeHead(200, headers as Record<string, string>)
  raw.write(`retry: 3000\n\n${ALIVE}`)
  const leave = feed.add({
    person: request.admin!,
    send: text => {
      if (raw.destroyed || raw.writableLength > MAX_UNREAD_BYTES) return false
      raw.write(text)
      return true
    },
    end: () => {
      raw.end()
      // A browser that keeps its side open does not delay anything.
      request.raw.socket.destroySoon()
    },
    isAllowed,
  })
  raw.on('close', leave)
  raw.on('error', leave)
}
