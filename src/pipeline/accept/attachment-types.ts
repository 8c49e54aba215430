/** Common attachments of transactional mail. Everything else is application/octet-stream, which every mail client offers to save. */
const TYPES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'application/pdf': 'pdf',
    'application/json': 'json',
    'application/xml': 'xml',
    'application/zip': 'zip',
    'application/gzip': 'gz',
    'application/rtf': 'rtf',
    'application/msword': 'doc',
    'application/vnd.ms-excel': 'xls',
    'application/vnd.ms-powerpoint': 'ppt',
    'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
    'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
    'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'pptx',
    'application/vnd.oasis.opendocument.text': 'odt',
    'application/vnd.oasis.opendocument.spreadsheet': 'ods',
    'application/vnd.apple.pkpass': 'pkpass',
    'application/pkcs7-signature': 'p7s',
    'text/plain': 'txt log',
    'text/csv': 'csv',
    'text/html': 'html htm',
    'text/markdown': 'md',
    'text/calendar': 'ics',
    'text/vcard': 'vcf',
    'message/rfc822': 'eml',
    'image/png': 'png',
    'image/jpeg': 'jpg jpeg',
    'image/gif': 'gif',
    'image/webp': 'webp',
    'image/avif': 'avif',
    'image/bmp': 'bmp',
    'image/tiff': 'tif tiff',
    'image/heic': 'heic',
    'image/svg+xml': 'svg',
    'audio/mpeg': 'mp3',
    'audio/wav': 'wav',
    'audio/ogg': 'ogg',
    'video/mp4': 'mp4',
    'video/webm': 'webm',
    'video/quicktime': 'mov',
  }).flatMap(([type, endings]) => endings.split(' ').map(ending => [ending, type] as const)),
)

export function guessContentType(filename: string): string {
  return TYPES.get(endingOf(filename)) ?? 'application/octet-stream'
}

/** Types that mail clients show inside the message and that cannot run code. */
const INLINE_TYPE = /^(?:image|audio|video|font)\/(?!svg)/i
/** Some mail clients decide by the file name instead of the type. */
const ACTIVE_ENDINGS: ReadonlySet<string> = new Set(
  'htm html shtml xht xhtml mht mhtml svg svgz xml xsl eml msg js mjs hta'.split(' '),
)

/** HTML pages, messages and SVG can run code, so they are only attached, never shown inside the message. */
export function mayBeInline({ contentType, filename }: { contentType: string; filename: string }): boolean {
  return INLINE_TYPE.test(contentType.trim()) && !ACTIVE_ENDINGS.has(endingOf(filename))
}

function endingOf(filename: string): string {
  const dot = filename.lastIndexOf('.')
  return dot === -1
    ? ''
    : filename
        .slice(dot + 1)
        .trim()
        .toLowerCase()
}
