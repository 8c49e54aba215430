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

/** Inline images become part of the document: a sandboxed frame cannot ask for them with the session's cookie. */
function withInlineImages(html: string, files: readonly InlineFile[]): string {
  const byId = new Map(files.map(file => [file.contentId, file]))
  return html.replaceAll(CID_URL, (whole, encoded: string) => {
    const file = byId.get(decoded(encoded))
    return file && IMAGE_TYPE.test(file.contentType) ? `data:${file.contentType};base64,${file.base64}` : whole
  })
}

const CID_URL = /cid:([^\s"'<>()]{1,256})/gi
/** Part of an attribute: nothing else may be in it. */
const IMAGE_TYPE = /^image\/[a-z0-9.+-]{1,50}$/i

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/**
 * Whether the HTML may want something of another host: an image, a background, a font. A guess, for a button. White space is bounded: two
 * unbounded runs of it beside each other take seconds for 100 000 spaces.
 */
export const hasRemoteContent = (html: string): boolean =>
  /(?:src|srcset|background|poster)\s{0,20}=\s{0,20}["']?\s{0,20}(?:https?:)?\/\/|url\(\s{0,20}["']?\s{0,20}(?:https?:)?\/\//i.test(
    html,
  )
