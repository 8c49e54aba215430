import type { FastifyReply } from 'fastify'

/** Never shown by a browser: the file is whatever a company sent. */
export function sendDownload(
  reply: FastifyReply,
  filename: string,
  content: Buffer,
  type = 'application/octet-stream',
): FastifyReply {
  return reply
    .type(type)
    .header('content-disposition', `attachment; filename*=UTF-8''${encodeName(filename)}`)
    .header('content-security-policy', "default-src 'none'; sandbox; frame-ancestors 'none'")
    .send(content)
}

/** RFC 8187. */
const encodeName = (name: string) =>
  encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    mark => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  )
