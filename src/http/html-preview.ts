import type { FastifyReply } from 'fastify'
import { type InlineFile, previewHtml, previewPolicy } from '../contracts/admin/preview.ts'

/** For a frame with the attribute `sandbox`. */
export function sendHtmlPreview(
  reply: FastifyReply,
  html: string,
  files: readonly InlineFile[],
  remoteImages: boolean,
): FastifyReply {
  return (
    reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', previewPolicy(remoteImages))
      // The hosts of links are looked up in advance otherwise, which tells whoever runs their name servers that somebody looks.
      .header('x-dns-prefetch-control', 'off')
      .header('vary', 'Accept')
      .send(previewHtml(html, files))
  )
}
