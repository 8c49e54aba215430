import { z } from 'zod'
import { listFiles, readFileContent } from '../outbox/content.ts'
import { textFromHtml } from '../platform/html/to-text.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { formatAddress } from '../platform/text/addresses.ts'
import { composeMime } from '../providers/mime.ts'
import { asDownload, fileSchema, hasRemoteContent, htmlPreview, type InlineFile } from '../web/download.ts'
import { Problem } from '../web/problem.ts'
import { route } from '../web/route.ts'
import { emailParams, notFound, outboxIdOr404 } from './routes.ts'
import { readStoredEmail, type StoredEmail } from './send-again.ts'
import { adminEmailContentSchema } from './view.ts'

/** What the e-mail says. Its words cannot be masked, so viewers get none of it. */
export function emailContentRoutes({ db }: { db: Database }) {
  const findStored = async (outboxId: string) => (await readStoredEmail(db.pool, outboxIdOr404(outboxId))) ?? notFound()

  return {
    content: route(
      {
        method: 'GET',
        path: '/admin/emails/:outboxId/content',
        access: { admin: 'viewer' },
        clear: true,
        summary: 'HTML, text and headers as they were accepted, and the list of attachments; not for viewers',
        params: emailParams,
        response: adminEmailContentSchema,
      },
      async ({ params }) => {
        const email = await findStored(params.outboxId)
        return {
          html: email.html,
          text: email.text,
          headers: email.headers ?? {},
          replyTo: email.replyTo ?? [],
          variables: email.html === null && email.text === null ? email.variables : null,
          hasRemoteContent: email.html !== null && hasRemoteContent(email.html),
          attachments: await listFiles(db.pool, email.outboxId),
        }
      },
    ),

    preview: route(
      {
        method: 'GET',
        path: '/admin/emails/:outboxId/preview',
        access: { admin: 'viewer' },
        clear: true,
        summary: 'The HTML as a page that runs and loads nothing; images of other hosts only when asked for',
        params: emailParams,
        query: z.object({ images: z.enum(['blocked', 'remote']).default('blocked') }),
        produces: 'text/html',
        response: fileSchema,
        refusals: [410],
      },
      async ({ params, query }, { header }) => {
        const email = await findStored(params.outboxId)
        if (email.html === null) throw new Problem('CONTENT_GONE')
        return htmlPreview(header, email.html, inlineFiles(email), query.images === 'remote')
      },
    ),

    source: route(
      {
        method: 'GET',
        path: '/admin/emails/:outboxId/source',
        access: { admin: 'viewer' },
        clear: true,
        summary: 'The message as MIME, as a provider would get it',
        params: emailParams,
        produces: 'message/rfc822',
        response: fileSchema,
        refusals: [410],
      },
      async ({ params }, { header }) => {
        const email = await findStored(params.outboxId)
        const source = await sourceOf(email)
        asDownload(header, `${email.outboxId}.eml`, 'message/rfc822')
        return source
      },
    ),

    attachment: route(
      {
        method: 'GET',
        path: '/admin/emails/:outboxId/attachments/:ordinal',
        access: { admin: 'viewer' },
        clear: true,
        summary: 'One attachment, as a download',
        params: z.object({ outboxId: z.string(), ordinal: z.coerce.number().int().min(0).max(1_000) }),
        produces: 'application/octet-stream',
        response: fileSchema,
        refusals: [410],
      },
      async ({ params }, { header }) => {
        const file = await readFileContent(db.pool, outboxIdOr404(params.outboxId), params.ordinal)
        if (!file) return notFound()
        asDownload(header, file.filename)
        return file.content
      },
    ),
  }
}

/** Inline images of a preview, together. */
const MAX_INLINE_BYTES = 5 * 1024 * 1024

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
