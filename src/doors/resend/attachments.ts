import { createHmac, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { requireKey } from '../../companies/require-key.ts'
import { listFiles, readFileContent, type StoredFile } from '../../outbox/content.ts'
import { asDownload } from '../../web/download.ts'
import { Problem } from '../../web/problem.ts'
import type { App } from '../../web/server.ts'
import { uuidParam } from '../../web/validation.ts'
import { described, idParams, type PageQuery, pageOf, pageQuery } from './describe.ts'
import { findResendEmail } from './emails.ts'
import type { ResendRouteDeps } from './routes.ts'

const DOWNLOAD_SECONDS = 60 * 60
const fileParams = z.object({ id: z.string(), attachmentId: z.string() })
const downloadQuery = z.object({ expires: z.coerce.number().int().positive(), signature: z.string().max(100) })

export function resendAttachmentRoutes(app: App, deps: ResendRouteDeps): void {
  const onRequest = requireKey(deps.keys, deps.pepper, 'read')
  const schema = {
    list: described('Attachments of an e-mail', { params: idParams, querystring: pageQuery }),
    get: described('One attachment, with a link to download it', { params: fileParams }),
    download: described('Download an attachment', { params: fileParams, querystring: downloadQuery, security: [] }),
  }
  app.get('/emails/:id/attachments', { onRequest, schema: schema.list }, async request =>
    pageOf(await list(request, deps), request.query as PageQuery),
  )
  app.get('/emails/:id/attachments/:attachmentId', { onRequest, schema: schema.get }, async request => {
    const { attachmentId } = request.params as z.output<typeof fileParams>
    const file = (await list(request, deps)).find(one => one.id === attachmentId)
    if (!file) throw new Problem('NOT_FOUND', { detail: 'Attachment not found' })
    return { object: 'attachment', ...file }
  })
  // The signature is the permission, so that the link works without a key, as at Resend.
  app.get('/emails/:id/attachments/:attachmentId/file', { schema: schema.download }, (request, reply) =>
    download(request, reply, deps),
  )
}

async function list(request: FastifyRequest, deps: ResendRouteDeps) {
  const { outboxId } = await findResendEmail(request, deps.db)
  const files = await listFiles(deps.db.pool, outboxId)
  const expiresAtSeconds = Math.floor(deps.db.clock.nowMs() / 1000) + DOWNLOAD_SECONDS
  return files.map(file => toAttachment(file, { outboxId, ordinal: file.ordinal, expiresAtSeconds }, request, deps))
}

type OfferedFile = Parameters<typeof signDownload>[0]

function toAttachment(
  { filename, contentType, contentId, size }: StoredFile,
  file: OfferedFile,
  request: FastifyRequest,
  { publicUrl, pepper }: ResendRouteDeps,
) {
  const id = idOf(file.ordinal)
  const base = publicUrl?.replace(/\/$/, '') ?? `${request.protocol}://${request.host}`
  const query = new URLSearchParams({
    expires: String(file.expiresAtSeconds),
    signature: signDownload(file, pepper),
  })
  return {
    id,
    filename,
    size,
    content_type: contentType,
    content_disposition: contentId === null ? ('attachment' as const) : ('inline' as const),
    ...(contentId !== null && { content_id: contentId }),
    download_url: `${base}/emails/${file.outboxId}/attachments/${id}/file?${query}`,
    expires_at: new Date(file.expiresAtSeconds * 1000).toISOString(),
  }
}

async function download(request: FastifyRequest, reply: FastifyReply, { db, pepper }: ResendRouteDeps) {
  const { expires, signature } = request.query as z.output<typeof downloadQuery>
  const ordinal = ordinalOf((request.params as z.output<typeof fileParams>).attachmentId)
  const file = { outboxId: uuidParam(request, 'id'), ordinal, expiresAtSeconds: expires }
  if (!mayDownload(file, signature, pepper, db.clock.now())) {
    throw new Problem('NOT_FOUND', { detail: 'The link is not valid or has expired; ask for the attachment again.' })
  }
  const found = await readFileContent(db.pool, file.outboxId, ordinal)
  if (!found) throw new Problem('NOT_FOUND', { detail: 'Attachment not found' })
  asDownload((name, value) => void reply.header(name, value), found.filename)
  return found.content
}

const idOf = (ordinal: number) => `att_${ordinal}`

function ordinalOf(attachmentId: string): number {
  const [, digits] = /^att_(\d{1,4})$/.exec(attachmentId) ?? []
  if (digits === undefined) throw new Problem('NOT_FOUND', { detail: 'Attachment not found' })
  return Number(digits)
}

type Download = { outboxId: string; ordinal: number; expiresAtSeconds: number }

/** Whoever has the link may download this one file, until it expires: it carries no API key. */
export function signDownload(download: Download, pepper: string): string {
  return digest(download, pepper).toString('base64url')
}

export function mayDownload(download: Download, signature: string, pepper: string, now: Date): boolean {
  const given = Buffer.from(signature, 'base64url')
  const expected = digest(download, pepper)
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return false
  return download.expiresAtSeconds * 1000 > now.getTime()
}

function digest({ outboxId, ordinal, expiresAtSeconds }: Download, pepper: string): Buffer {
  return createHmac('sha256', pepper).update(`attachment ${outboxId} ${ordinal} ${expiresAtSeconds}`).digest()
}
