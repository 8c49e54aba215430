import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { readFileContent } from '../outbox/content.ts'
import { loadAttachments } from '../outbox/load.ts'
import type { Database } from '../platform/postgres/pool.ts'
import {
  type CapturePlace,
  deleteAllCaptured,
  deleteCaptured,
  findCaptured,
  listCaptured,
} from '../providers/capture/inbox.ts'
import { composeMime } from '../providers/mime.ts'
import type { AdminRouteDeps } from '../web/access.ts'
import { hasRemoteContent, sendHtmlPreview } from '../web/download.ts'
import { problemAnswers } from '../web/openapi.ts'
import { invalidField, Problem } from '../web/problem.ts'
import type { App } from '../web/server.ts'
import { findLinks } from './links.ts'

const listQuery = z.object({
  search: z
    .string()
    .trim()
    .min(1)
    .max(200)
    .refine(text => !text.includes('\0'), 'must not contain NUL')
    .optional()
    .describe('Part of the subject or of a recipient; upper and lower case are the same'),
  content: z.literal('false').optional().describe('Has no effect: the list never has the contents'),
  cursor: z.string().max(300).optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
})
type ListQuery = z.output<typeof listQuery>

const messageSchema = z.object({
  from: z.string(),
  to: z.array(z.string()),
  cc: z.array(z.string()),
  bcc: z.array(z.string()),
  replyTo: z.array(z.string()),
  subject: z.string(),
  html: z.string().nullable(),
  text: z.string().nullable(),
  headers: z.record(z.string(), z.string()),
  attachments: z.array(
    z.object({ filename: z.string(), contentType: z.string(), contentId: z.string().nullable(), bytes: z.int() }),
  ),
})
const capturedSchema = z.object({
  messageId: z.string(),
  outboxId: z.uuid(),
  companyId: z.uuid(),
  capturedAt: z.iso.datetime(),
  message: messageSchema,
})
const listedSchema = capturedSchema
  .extend({ message: messageSchema.omit({ html: true, text: true, headers: true }) })
  .extend({ snippet: z.string().describe('How the text begins') })
  .meta({ id: 'CapturedListed' })
const shownSchema = capturedSchema
  .extend({
    links: z.array(z.object({ href: z.string(), text: z.string() })).describe('At most 200, each address once'),
    remoteImages: z.boolean().describe('The HTML names images of other hosts'),
  })
  .meta({ id: 'CapturedMessage' })

export const inboxParams = z.object({ messageId: z.string().max(100) })
export const inboxCommon = { tags: ['Admin'], security: [{ administrator: [] }] }
const changes = problemAnswers(400, 401, 403, 415, 422, 429, 503)

const listSchema = {
  summary: 'What capture kept, newest first, without the contents',
  ...inboxCommon,
  querystring: listQuery,
  response: {
    200: z.object({ data: z.array(listedSchema), cursor: z.string().nullable(), hasMore: z.boolean() }),
    ...problemAnswers(401, 422, 429, 503),
  },
}
const showSchema = {
  summary: 'One captured message, with its links',
  ...inboxCommon,
  params: inboxParams,
  response: { 200: shownSchema, ...problemAnswers(401, 404, 429, 503) },
}
const deleteSchema = {
  summary: 'Delete one captured message',
  ...inboxCommon,
  params: inboxParams,
  response: { 200: z.object({ deleted: z.literal(true), messageId: z.string() }), ...changes, ...problemAnswers(404) },
}
const emptySchema = {
  summary: 'Delete all captured messages',
  ...inboxCommon,
  response: { 200: z.object({ deleted: z.int() }), ...changes },
}

/** The inbox of the capture provider. */
export function adminInboxRoutes(app: App, { db, onRequest }: AdminRouteDeps): void {
  // The content of a message may spell an address in ways that no mask finds, so the inbox is not for viewers.
  const config = { role: 'support' as const }

  app.get('/admin/inbox', { onRequest, config, schema: listSchema }, request => list(request, db))
  app.get('/admin/inbox/:messageId', { onRequest, config, schema: showSchema }, async request => {
    const { attemptId: _, ...row } = await findMessage(request, db)
    const { html, text } = row.message
    return { ...row, links: findLinks(html, text), remoteImages: hasRemoteContent(html ?? '') }
  })
  app.delete('/admin/inbox/:messageId', { onRequest, schema: deleteSchema }, async request => {
    const { messageId } = request.params as z.output<typeof inboxParams>
    if (messageId.includes('\0') || !(await deleteCaptured(db.pool, messageId, request.admin!)))
      throw new Problem('NOT_FOUND')
    return { deleted: true as const, messageId }
  })
  app.delete('/admin/inbox', { onRequest, schema: emptySchema }, async request => ({
    deleted: await deleteAllCaptured(db.pool, request.admin!),
  }))
}

async function list(request: FastifyRequest, db: Database) {
  const { search = null, cursor, limit } = request.query as ListQuery
  const after = cursor === undefined ? null : fromCursor(cursor)
  // One row more than the page shows whether there is another page.
  const rows = await listCaptured(db.pool, { search, after, limit: limit + 1 })
  const hasMore = rows.length > limit
  const page = rows.slice(0, limit)
  return {
    data: page.map(({ micros: _, ...row }) => row),
    cursor: hasMore ? toCursor(page.at(-1)!) : null,
    hasMore,
  }
}

export async function findMessage(request: FastifyRequest, { pool }: Database) {
  const { messageId } = request.params as z.output<typeof inboxParams>
  const row = messageId.includes('\0') ? null : await findCaptured(pool, messageId)
  if (!row) throw new Problem('NOT_FOUND')
  return row
}

const toCursor = ({ micros, messageId }: CapturePlace) => Buffer.from(`${micros} ${messageId}`).toString('base64url')

function fromCursor(cursor: string): CapturePlace {
  const [, micros, messageId] = /^(\d{1,16}) ([^\0]{1,200})$/s.exec(Buffer.from(cursor, 'base64url').toString()) ?? []
  if (micros === undefined) throw invalidField('cursor', 'is not a cursor of this list', 'INVALID_CURSOR')
  return { micros, messageId: messageId! }
}

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
