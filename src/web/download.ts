import { z } from 'zod'
import { replaceCidUrls } from '../platform/html/urls.ts'

/** The answer of a route that `produces` something else than JSON. */
export const fileSchema = z.string() as unknown as z.ZodType<string | Buffer>

type SetHeader = (name: string, value: string) => void

/** The headers of a file that is never shown by a browser: it is whatever a company sent. */
export function asDownload(header: SetHeader, filename: string, type = 'application/octet-stream'): void {
  header('content-type', type)
  header('content-disposition', `attachment; filename*=UTF-8''${encodeName(filename)}`)
  header('content-security-policy', "default-src 'none'; sandbox; frame-ancestors 'none'")
}

/** RFC 8187. */
const encodeName = (name: string) =>
  encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    mark => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  )

/** For a frame with the attribute `sandbox`. */
export function htmlPreview(
  header: SetHeader,
  html: string,
  files: readonly InlineFile[],
  remoteImages: boolean,
): string {
  header('content-type', 'text/html; charset=utf-8')
  header('content-security-policy', previewPolicy(remoteImages))
  // The hosts of links are looked up in advance otherwise, which tells whoever runs their name servers that somebody looks.
  header('x-dns-prefetch-control', 'off')
  header('vary', 'Accept')
  return previewHtml(html, files)
}

/**
 * The preview of an e-mail's HTML is a document of its own: it runs nothing (sandbox without allow-scripts), loads nothing, and its
 * links lead nowhere (frame-src of the page around it). Images of other hosts only when somebody asked for them: they tell the sender
 * who looks, and from where.
 */
export function previewPolicy(remoteImages: boolean): string {
  return [
    'sandbox',
    "default-src 'none'",
    `img-src data:${remoteImages ? ' https: http:' : ''}`,
    "style-src 'unsafe-inline'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
  ].join('; ')
}

export type InlineFile = { contentId: string | null; contentType: string; base64: string }

/** The HTML as it is shown in the sandbox. */
export function previewHtml(html: string, files: readonly InlineFile[]): string {
  return withoutLinkElements(withInlineImages(html, files))
}

/** No policy keeps a browser from connecting to the host of `<link rel="preconnect">`; nothing that a link element loads is shown anyway. */
const withoutLinkElements = (html: string) => html.replaceAll(/<link(?=[\s/>])/gi, '<x-link')

/**
 * Inline images become part of the document: a sandboxed frame cannot ask for them with the session's cookie. Each is there at least
 * once, and further times while they are not too large together: 100 references to one file of 3.7 MB would be a document of 493 MB.
 */
function withInlineImages(html: string, files: readonly InlineFile[]): string {
  const images = new Map(
    files.filter(({ contentType }) => IMAGE_TYPE.test(contentType)).map(file => [file.contentId, file]),
  )
  const shown = new Set<InlineFile>()
  let repeatedChars = 0
  return replaceCidUrls(html, contentId => {
    const file = images.get(contentId)
    if (!file) return null
    if (shown.has(file)) {
      if (repeatedChars + file.base64.length > MAX_REPEATED_CHARS) return null
      repeatedChars += file.base64.length
    }
    shown.add(file)
    return `data:${file.contentType};base64,${file.base64}`
  })
}

/** Of images in base64 that stand in the document already. A logo or an icon of 10 KB may be repeated 300 times. */
const MAX_REPEATED_CHARS = 4 * 1024 * 1024
/** Part of an attribute: nothing else may be in it. */
const IMAGE_TYPE = /^image\/[a-z0-9.+-]{1,50}$/i

/**
 * Whether the HTML may want something of another host: an image, a background, a font. A guess, for a button. White space is bounded: two
 * unbounded runs of it beside each other take seconds for 100 000 spaces.
 */
export const hasRemoteContent = (html: string): boolean =>
  /(?:src|srcset|background|poster)\s{0,20}=\s{0,20}["']?\s{0,20}(?:https?:)?\/\/|url\(\s{0,20}["']?\s{0,20}(?:https?:)?\/\//i.test(
    html,
  )
