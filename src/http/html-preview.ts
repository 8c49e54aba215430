import type { FastifyReply } from 'fastify'

/**
 * For a frame with the attribute `sandbox`. The message can run, submit and navigate nothing, and loads nothing but what it brings
 * along; `remote` allows images of other hosts, after a person has asked for them.
 */
const previewPolicy = (remote: boolean) =>
  `sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:${remote ? ' https: http:' : ''}; base-uri 'none'; form-action 'none'; frame-ancestors 'self'`

export function sendHtmlPreview(reply: FastifyReply, html: string, remote: boolean): FastifyReply {
  return reply
    .type('text/html; charset=utf-8')
    .header('content-security-policy', previewPolicy(remote))
    .header('vary', 'Accept')
    .send(html)
}

type InlineFile = { contentType: string; contentId: string | null; base64: string }

const SAFE_IMAGE = /^image\/(?:png|jpe?g|gif|webp|avif|bmp)$/i

/** `cid:` references become data URLs, since the frame may ask for nothing. */
export function withInlineImages(html: string, files: InlineFile[]): string {
  const images = new Map(
    files
      .filter(file => file.contentId !== null && SAFE_IMAGE.test(file.contentType))
      .map(file => [file.contentId!, `data:${file.contentType};base64,${file.base64}`]),
  )
  if (images.size === 0) return html
  return html.replace(/\bcid:([^\s"'<>)]{1,255})/gi, (reference, id: string) => images.get(decoded(id)) ?? reference)
}

function decoded(id: string): string {
  try {
    return decodeURIComponent(id)
  } catch {
    return id
  }
}
