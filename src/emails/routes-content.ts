import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { listFiles, readFileContent } from '../outbox/content.ts'
import { textFromHtml } from '../platform/html/to-text.ts'
import { formatAddress } from '../platform/text/addresses.ts'
import { composeMime } from '../providers/mime.ts'
import type { AdminRouteDeps } from '../web/access.ts'
import { hasRemoteContent, type InlineFile, sendDownload, sendHtmlPreview } from '../web/download.ts'
import { problemAnswers } from '../web/openapi.ts'
import { Problem } from '../web/problem.ts'
import type { App } from '../web/server.ts'
import { uuidParam } from '../web/validation.ts'
import { adminEmailParams } from './routes-admin.ts'
import { readStoredEmail, type StoredEmail } from './send-again.ts'
import { adminEmailContentSchema } from './view.ts'

/** Inline images of a preview, together. */
const MAX_INLINE_BYTES = 5 * 1024 * 1024

const common = { tags: ['Admin'], security: [{ administrator: [] }] }
const refusals = problemAnswers(401, 403, 404, 410, 422, 429, 503)
const fileParams = z.object({ outboxId: z.string(), ordinal: z.coerce.number().int().min(0).max(1_000) })
const previewQuery = z.object({ images: z.enum(['blocked', 'remote']).default('blocked') })

const contentSchema = {
  summary: 'HTML, text and headers as they were accepted, and the list of attachments; not for viewers',
  ...common,
  params: adminEmailParams,
  response: { 200: adminEmailContentSchema, ...refusals },
}
const previewSchema = {
  summary: 'The HTML as a page that runs and loads nothing; images of other hosts only when asked for',
  ...common,
  params: adminEmailParams,
  querystring: previewQuery,
  produces: ['text/html'],
  response: { 200: z.string(), ...refusals },
}
const sourceSchema = {
  summary: 'The message as MIME, as a provider would get it',
  ...common,
  params: adminEmailParams,
  produces: ['message/rfc822'],
  response: { 200: z.string(), ...refusals },
}
const fileSchema = {
  summary: 'One attachment, as a download',
  ...common,
  params: fileParams,
  produces: ['application/octet-stream'],
  response: { 200: z.string(), ...refusals },
}

/** What the e-mail says. Its words cannot be masked, so viewers get none of it. */
export function adminEmailContentRoutes(app: App, deps: AdminRouteDeps): void {
  const { db, onRequest } = deps
  const config = { clear: true }

  app.get('/admin/emails/:outboxId/content', { onRequest, config, schema: contentSchema }, async request => {
    const email = await storedEmail(request, deps)
    return {
      html: email.html,
      text: email.text,
      headers: email.headers ?? {},
      replyTo: email.replyTo ?? [],
      variables: email.html === null && email.text === null ? email.variables : null,
      hasRemoteContent: email.html !== null && hasRemoteContent(email.html),
      attachments: await listFiles(db.pool, email.outboxId),
    }
  })
  app.get('/admin/emails/:outboxId/preview', { onRequest, config, schema: previewSchema }, async (request, reply) => {
    const email = await storedEmail(request, deps)
    if (email.html === null) throw new Problem('CONTENT_GONE')
    const { images } = request.query as z.output<typeof previewQuery>
    return sendHtmlPreview(reply, email.html, inlineFiles(email), images === 'remote')
  })
  app.get('/admin/emails/:outboxId/source', { onRequest, config, schema: sourceSchema }, async (request, reply) => {
    const email = await storedEmail(request, deps)
    return sendDownload(reply, `${email.outboxId}.eml`, await sourceOf(email), 'message/rfc822')
  })
  app.get('/admin/emails/:outboxId/attachments/:ordinal', { onRequest, config, schema: fileSchema }, (request, reply) =>
    download(request, reply, deps),
  )
}

async function storedEmail(request: FastifyRequest, { db }: AdminRouteDeps): Promise<StoredEmail> {
  const email = await readStoredEmail(db.pool, uuidParam(request, 'outboxId'))
  if (!email) throw new Problem('NOT_FOUND')
  return email
}

function inlineFiles({ attachments }: StoredEmail): InlineFile[] {
  let bytes = 0
  return attachments.flatMap(({ contentId, contentType, base64 }) => {
    if (contentId === null || bytes + base64.length > MAX_INLINE_BYTES) return []
    bytes += base64.length
    return [{ contentId, contentType, base64 }]
  })
}

/** With the id of the e-mail where an attempt would have its own. */
async function sourceOf(email: StoredEmail): Promise<Buffer> {
  if (email.html === null && email.text === null) throw new Problem('CONTENT_GONE')
  const only = (kind: 'to' | 'cc' | 'bcc') =>
    email.recipients
      .filter(one => one.kind === kind)
      .map(({ address, name }) => formatAddress({ address, displayName: name }))
  return composeMime({
    outboxId: email.outboxId,
    attemptId: email.outboxId,
    companyId: email.companyId,
    from: email.from ?? '',
    to: only('to'),
    cc: only('cc'),
    bcc: [],
    replyTo: email.replyTo ?? [],
    subject: email.subject ?? '',
    html: email.html,
    text: email.text ?? textFromHtml(email.html!),
    headers: email.headers ?? {},
    tags: email.tags,
    attachments: email.attachments,
  })
}

async function download(request: FastifyRequest, reply: FastifyReply, { db }: AdminRouteDeps) {
  const { ordinal } = request.params as z.output<typeof fileParams>
  const file = await readFileContent(db.pool, uuidParam(request, 'outboxId'), ordinal)
  if (!file) throw new Problem('NOT_FOUND')
  return sendDownload(reply, file.filename, file.content)
}
