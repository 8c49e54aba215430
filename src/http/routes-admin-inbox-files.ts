import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { readFileContent } from '../db/outbox/content.ts'
import { loadAttachments } from '../db/outbox/load.ts'
import type { Database } from '../db/pool.ts'
import { composeMime } from '../providers/mime.ts'
import type { App } from './app.ts'
import { sendHtmlPreview } from './html-preview.ts'
import { problemAnswers } from './openapi.ts'
import { Problem } from './problem.ts'
import type { AdminRouteDeps } from './routes-admin.ts'
import { findMessage, inboxCommon, inboxParams } from './routes-admin-inbox.ts'

const refusals = problemAnswers(401, 403, 404, 410, 422, 429, 503)
const fileParams = inboxParams.extend({ index: z.coerce.number().int().min(0).max(1000) })
const previewQuery = z.object({ remote: z.enum(['true', 'false']).default('false') })
const bytes = (contentType: string, description: string) => ({
  200: { description, content: { [contentType]: { schema: z.string() } } },
  ...refusals,
})

const sourceSchema = {
  summary: 'The message as a mail server would get it',
  ...inboxCommon,
  params: inboxParams,
  response: bytes('text/plain', 'The source, without Bcc; the boundaries differ from call to call'),
}
const attachmentSchema = {
  summary: 'One attachment, as a file',
  ...inboxCommon,
  params: fileParams,
  response: bytes('application/octet-stream', 'The file; 410 after the retention of content'),
}
const previewSchema = {
  summary: 'The HTML for a sandboxed frame: it runs nothing, and loads images only when asked to',
  ...inboxCommon,
  params: inboxParams,
  querystring: previewQuery,
  response: bytes('text/html', 'The HTML'),
}

/** A captured message as source, preview and files. They show addresses, so a viewer is refused (`clear`). */
export function adminInboxFileRoutes(app: App, { db, onRequest }: AdminRouteDeps): void {
  const config = { clear: true }
  app.get('/admin/inbox/:messageId/source', { onRequest, config, schema: sourceSchema }, async (request, reply) =>
    reply.type('text/plain; charset=utf-8').send(await sourceOf(request, db)),
  )
  app.get('/admin/inbox/:messageId/preview', { onRequest, config, schema: previewSchema }, (request, reply) =>
    preview(request, reply, db),
  )
  app.get(
    '/admin/inbox/:messageId/attachments/:index',
    { onRequest, config, schema: attachmentSchema },
    (request, reply) => sendAttachment(request, reply, db),
  )
}

async function sourceOf(request: FastifyRequest, db: Database): Promise<Buffer> {
  const { message, capturedAt, ...ids } = await findMessage(request, db)
  const attachments = await loadAttachments(db.pool, ids.outboxId)
  if (attachments.length < message.attachments.length) throw contentGone()
  const headers = { Date: capturedAt.toUTCString().replace('GMT', '+0000'), ...message.headers }
  return composeMime({ ...ids, ...message, text: message.text ?? '', headers, tags: [], attachments })
}

async function preview(request: FastifyRequest, reply: FastifyReply, db: Database) {
  const { message, outboxId } = await findMessage(request, db)
  const { remote } = request.query as z.output<typeof previewQuery>
  if (message.html === null) throw new Problem('NOT_FOUND', { detail: 'The message has no HTML' })
  const hasInline = message.attachments.some(file => file.contentId !== null)
  const files = hasInline ? await loadAttachments(db.pool, outboxId) : []
  return sendHtmlPreview(reply, message.html, files, remote === 'true')
}

async function sendAttachment(request: FastifyRequest, reply: FastifyReply, db: Database) {
  const { message, outboxId } = await findMessage(request, db)
  const { index } = request.params as z.output<typeof fileParams>
  const listed = message.attachments[index]
  if (!listed) throw new Problem('NOT_FOUND')
  const file = await readFileContent(db.pool, outboxId, index)
  if (!file) throw contentGone()
  return reply
    .type('application/octet-stream')
    .header('content-disposition', attachmentDisposition(listed.filename))
    .send(file.content)
}

const contentGone = () =>
  new Problem('CONTENT_GONE', { detail: 'The attachments were deleted with the content of the e-mail' })

/** RFC 6266: plain ASCII for old browsers, UTF-8 for all others. */
function attachmentDisposition(filename: string): string {
  const ascii = filename.replace(/[^\x20-\x7e]|["\\%/]/g, '_')
  const utf8 = encodeURIComponent(filename.toWellFormed()).replace(
    /['()*]/g,
    character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${ascii}"; filename*=UTF-8''${utf8}`
}
