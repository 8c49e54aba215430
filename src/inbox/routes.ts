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
import { performedBy } from '../web/access.ts'
import { fileSchema, hasRemoteContent, htmlPreview } from '../web/download.ts'
import { invalidField, Problem } from '../web/problem.ts'
import { route } from '../web/route.ts'
import { findLinks } from './links.ts'

/**
 * The inbox of the capture provider. The content of a message may spell an address in ways that no mask finds, so it is not for viewers,
 * and files, which cannot be masked, are `clear`.
 */
export function inboxRoutes({ db }: { db: Database }) {
  return {
    list: route(
      {
        method: 'GET',
        path: '/admin/inbox',
        access: { admin: 'support' },
        summary: 'What capture kept, newest first, without the contents',
        query: listQuery,
        response: z.object({ data: z.array(listedSchema), cursor: z.string().nullable(), hasMore: z.boolean() }),
      },
      async ({ query: { search = null, cursor, limit } }) => {
        const after = cursor === undefined ? null : fromCursor(cursor)
        // One row more than the page shows whether there is another page.
        const rows = await listCaptured(db.pool, { search, after, limit: limit + 1 })
        const hasMore = rows.length > limit
        const page = rows.slice(0, limit)
        return {
          data: page.map(({ micros: _, ...row }) => ({ ...row, capturedAt: row.capturedAt.toISOString() })),
          cursor: hasMore ? toCursor(page.at(-1)!) : null,
          hasMore,
        }
      },
    ),

    show: route(
      {
        method: 'GET',
        path: '/admin/inbox/:messageId',
        access: { admin: 'support' },
        summary: 'One captured message, with its links',
        params: inboxParams,
        response: shownSchema,
      },
      async ({ params }) => {
        const { messageId, outboxId, companyId, capturedAt, message } = await findMessage(db, params.messageId)
        return {
          ...{ messageId, outboxId, companyId, capturedAt: capturedAt.toISOString(), message },
          links: findLinks(message.html, message.text),
          remoteImages: hasRemoteContent(message.html ?? ''),
        }
      },
    ),

    delete: route(
      {
        method: 'DELETE',
        path: '/admin/inbox/:messageId',
        access: { admin: 'support' },
        summary: 'Delete one captured message',
        params: inboxParams,
        response: z.object({ deleted: z.literal(true), messageId: z.string() }),
      },
      async ({ params: { messageId } }, { principal }) => {
        if (messageId.includes('\0') || !(await deleteCaptured(db.pool, messageId, performedBy(principal))))
          throw new Problem('NOT_FOUND')
        return { deleted: true as const, messageId }
      },
    ),

    empty: route(
      {
        method: 'DELETE',
        path: '/admin/inbox',
        access: { admin: 'support' },
        summary: 'Delete all captured messages',
        response: z.object({ deleted: z.int() }),
      },
      async (_, { principal }) => ({ deleted: await deleteAllCaptured(db.pool, performedBy(principal)) }),
    ),

    source: route(
      {
        method: 'GET',
        path: '/admin/inbox/:messageId/source',
        access: { admin: 'viewer' },
        clear: true,
        summary: 'The message as a mail server would get it',
        params: inboxParams,
        produces: 'text/plain',
        response: fileSchema.describe('The source, without Bcc; the boundaries differ from call to call'),
        refusals: [410],
      },
      async ({ params }, { header }) => {
        const { message, capturedAt, ...ids } = await findMessage(db, params.messageId)
        const attachments = await loadAttachments(db.pool, ids.outboxId)
        if (attachments.length < message.attachments.length) throw contentGone()
        const headers = { Date: capturedAt.toUTCString().replace('GMT', '+0000'), ...message.headers }
        header('content-type', 'text/plain; charset=utf-8')
        return composeMime({ ...ids, ...message, text: message.text ?? '', headers, tags: [], attachments })
      },
    ),

    preview: route(
      {
        method: 'GET',
        path: '/admin/inbox/:messageId/preview',
        access: { admin: 'viewer' },
        clear: true,
        summary: 'The HTML for a sandboxed frame: it runs nothing, and loads images only when asked to',
        params: inboxParams,
        query: z.object({ remote: z.enum(['true', 'false']).default('false') }),
        produces: 'text/html',
        response: fileSchema.describe('The HTML'),
        refusals: [410],
      },
      async ({ params, query }, { header }) => {
        const { message, outboxId } = await findMessage(db, params.messageId)
        if (message.html === null) throw new Problem('NOT_FOUND', { detail: 'The message has no HTML' })
        const hasInline = message.attachments.some(file => file.contentId !== null)
        const files = hasInline ? await loadAttachments(db.pool, outboxId) : []
        return htmlPreview(header, message.html, files, query.remote === 'true')
      },
    ),

    attachment: route(
      {
        method: 'GET',
        path: '/admin/inbox/:messageId/attachments/:index',
        access: { admin: 'viewer' },
        clear: true,
        summary: 'One attachment, as a file',
        params: inboxParams.extend({ index: z.coerce.number().int().min(0).max(1000) }),
        produces: 'application/octet-stream',
        response: fileSchema.describe('The file; 410 after the retention of content'),
        refusals: [410],
      },
      async ({ params: { messageId, index } }, { header }) => {
        const { message, outboxId } = await findMessage(db, messageId)
        const listed = message.attachments[index]
        if (!listed) throw new Problem('NOT_FOUND')
        const file = await readFileContent(db.pool, outboxId, index)
        if (!file) throw contentGone()
        header('content-type', 'application/octet-stream')
        header('content-disposition', attachmentDisposition(listed.filename))
        return file.content
      },
    ),
  }
}

const inboxParams = z.object({ messageId: z.string().max(100) })
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

async function findMessage({ pool }: Database, messageId: string) {
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
