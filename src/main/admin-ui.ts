import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../web/problem.ts'
import type { App } from '../web/server.ts'

/** `npm run build` writes it; the same path from src/http and from dist/http. */
const BUILT = new URL('../../dist/admin/', import.meta.url).pathname

/** Written by Vite where a nonce belongs (admin/vite.config.ts). */
const NONCE_PLACEHOLDER = 'STYLE_NONCE'
const FOREVER = 'public, max-age=31536000, immutable'
const TYPES: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
}
const COMPRESSED = new Set(['.js', '.css', '.svg'])

const NOT_BUILT =
  'The admin UI is not built: dist/admin/index.html is missing. Run "npm run build" and start the gateway again.'

/**
 * Scripts come from this origin only, never inline. Mantine writes its theme's variables into style elements, which carry the nonce of
 * the answer. Frames show e-mails; they are sandboxed, and a srcdoc frame inherits this policy, so
 * that the style attributes of an e-mail have to be allowed.
 */
const adminPolicy = (nonce: string) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "style-src-attr 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "frame-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

/**
 * The single-page application at /admin. A browser that opens any admin URL gets the page, without signing in: it holds no data. The
 * same URLs answer JSON to everything that does not prefer HTML. Call it before the routes of its scope.
 */
export function adminUi(app: App, folder = BUILT): void {
  const index = join(folder, 'index.html')
  const html = existsSync(index) ? readFileSync(index, 'utf8') : null

  app.addHook('onRequest', async (request, reply) => {
    reply.header('vary', 'Accept')
    if (wantsPage(request)) return sendPage(reply, html)
  })
  app.get('/admin', { schema: { hide: true } }, notFound)
  app.get('/admin/*', { schema: { hide: true } }, notFound)
  serveAssets(app, join(folder, 'assets'))
}

async function notFound(): Promise<never> {
  throw new Problem('NOT_FOUND')
}

function wantsPage({ method, headers, routeOptions }: FastifyRequest): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false
  return !routeOptions.config.clear && prefersHtml(headers.accept ?? '')
}

/** A browser writes about 150 characters. */
const MAX_ACCEPT_CHARS = 1_000

/** Browsers ask for pages with text/html first; programs ask for JSON or for anything. */
export function prefersHtml(accept: string): boolean {
  const wanted = acceptedTypes(accept.slice(0, MAX_ACCEPT_CHARS))
  const html = qualityOf(wanted, 'text/html')
  return html > 0 && html >= qualityOf(wanted, 'application/json')
}

/** Each type with its parameters. Divided without `\s*`, which takes quadratic time for a long run of spaces. */
function acceptedTypes(accept: string): string[][] {
  return accept
    .toLowerCase()
    .split(',')
    .map(entry => entry.split(';').map(part => part.trim()))
}

function qualityOf(accepted: string[][], type: string): number {
  const entry = accepted.find(([name]) => name === type)
  if (!entry) return 0
  const quality = Number(entry.find(part => part.startsWith('q='))?.slice(2) ?? 1)
  return Number.isNaN(quality) ? 0 : quality
}

function sendPage(reply: FastifyReply, html: string | null): FastifyReply {
  if (html === null) return reply.code(503).type('text/plain; charset=utf-8').send(NOT_BUILT)
  const nonce = randomBytes(18).toString('base64')
  return reply
    .type('text/html; charset=utf-8')
    .header('content-security-policy', adminPolicy(nonce))
    .send(html.replaceAll(NONCE_PLACEHOLDER, nonce))
}

type Asset = { bytes: Buffer; gzipped: Buffer | null }

/** The names carry a hash of the content. Only files that were there at the start are served, so no path leaves the folder. */
function serveAssets(app: App, folder: string): void {
  const names = new Set(existsSync(folder) ? readdirSync(folder) : [])
  const cached = new Map<string, Promise<Asset>>()

  app.get('/admin/assets/:file', { config: { clear: true }, schema: { hide: true } }, async (request, reply) => {
    const { file } = request.params as { file: string }
    if (!names.has(file)) throw new Problem('NOT_FOUND')
    const { bytes, gzipped } = await (cached.get(file) ?? read(file))
    reply
      .type(TYPES[extname(file)] ?? 'application/octet-stream')
      .headers({ 'cache-control': FOREVER, vary: 'Accept-Encoding' })
    return gzipped && /\bgzip\b/.test(request.headers['accept-encoding'] ?? '')
      ? reply.header('content-encoding', 'gzip').send(gzipped)
      : reply.send(bytes)
  })

  /** A read that fails (too many open files, a build that replaces the folder) is tried again by the next request. */
  function read(file: string): Promise<Asset> {
    const asset = readAsset(join(folder, file))
    cached.set(file, asset)
    asset.catch(() => cached.delete(file))
    return asset
  }
}

async function readAsset(path: string): Promise<Asset> {
  const bytes = readFileSync(path)
  return { bytes, gzipped: COMPRESSED.has(extname(path)) ? await promisify(gzip)(bytes) : null }
}
