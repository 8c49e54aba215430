import { type KeyObject, X509Certificate } from 'node:crypto'
import { open } from 'node:fs/promises'
import { get } from 'node:https'
import { join } from 'node:path'
import { LRUCache } from 'lru-cache'
import { type CertificateLocation, type CertificateSource, SnsRefused } from './sns.ts'

const MAX_BYTES = 16 * 1024
const FETCH_MS = 5_000
/** AWS changes its certificate about once a year; one region has one or two. */
const MAX_CACHED = 50
const MAX_REFUSED = 1_000
/** Refusals are cached as well: messages with invented file names must not cause one request to AWS each. */
const REFUSED_MS = 60_000
const UNREACHABLE_MS = 2_000
const MAX_FETCHES = 4

/** null: there is no such certificate. Throws: it could not be loaded now. */
export type Load = (location: CertificateLocation) => Promise<string | null>

type CheckedCertificate = { key: KeyObject; validToMs: number }

/** Caches valid certificates, and for a short time the refusal of others. */
export function certificateSource(load: Load, options: { pinned: boolean; now?: () => number }): CertificateSource {
  const { pinned, now = Date.now } = options
  const valid = new LRUCache<string, CheckedCertificate>({ max: MAX_CACHED })
  const refused = new LRUCache<string, { untilMs: number; refusal: SnsRefused }>({ max: MAX_REFUSED })
  const loading = new Map<string, Promise<KeyObject>>()

  async function loadAndCheck(location: CertificateLocation): Promise<KeyObject> {
    try {
      const pem = await load(location)
      const checked = checkCertificate(pem, location, pinned, now())
      valid.set(location.url, checked)
      return checked.key
    } catch (error) {
      const refusal = error instanceof SnsRefused ? error : unreachable()
      const ms = refusal.refusal.kind === 'retry' ? UNREACHABLE_MS : REFUSED_MS
      refused.set(location.url, { untilMs: now() + ms, refusal })
      throw refusal
    }
  }

  return async function certificateOf(location) {
    const cached = valid.get(location.url)
    if (cached && cached.validToMs > now()) return cached.key
    valid.delete(location.url)
    const refusal = refused.get(location.url)
    if (refusal && refusal.untilMs > now()) throw refusal.refusal
    const started = loading.get(location.url)
    if (started) return started
    if (!pinned && loading.size >= MAX_FETCHES) throw unreachable()
    const pending = loadAndCheck(location).finally(() => loading.delete(location.url))
    loading.set(location.url, pending)
    return pending
  }
}

const unreachable = () =>
  new SnsRefused('retry', 'certificate-unreachable', 'The signing certificate could not be fetched; try again.')

const refuse = (detail: string) => new SnsRefused('refused', 'certificate', detail)

/** A pinned certificate is trusted by its file name; a fetched one must be issued to Amazon SNS. */
function checkCertificate(
  pem: string | null,
  location: CertificateLocation,
  pinned: boolean,
  nowMs: number,
): CheckedCertificate {
  if (pem === null)
    throw refuse(
      pinned ? 'SNS_CERT_DIR has no certificate of this name.' : 'Amazon SNS has no certificate of this name.',
    )
  let certificate: X509Certificate
  try {
    certificate = new X509Certificate(pem)
  } catch {
    throw refuse('The signing certificate cannot be read.')
  }
  const [from, to] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)]
  if (!(from <= nowMs && nowMs < to)) throw refuse('The signing certificate is not valid now.')
  if (certificate.publicKey.asymmetricKeyType !== 'rsa') throw refuse('The signing certificate has no RSA key.')
  if (!pinned && !namesOf(location).some(name => certificate.checkHost(name, { subject: 'always' }) !== undefined))
    throw refuse('The signing certificate is not one of Amazon SNS.')
  return { key: certificate.publicKey, validToMs: to }
}

/** The names in the AWS SDK for Java: old regions share one name; GovCloud, China and opt-in regions have their own. */
function namesOf({ region, host }: CertificateLocation): string[] {
  if (region.startsWith('cn-')) return [`sns-${region}.amazonaws.com.cn`, host]
  if (region.startsWith('us-gov-')) return ['sns-us-gov-west-1.amazonaws.com', host]
  return ['sns.amazonaws.com', `sns-signing.${region}.amazonaws.com`, host]
}

/** Reads from SNS_CERT_DIR. `file` has passed CERTIFICATE_PATH in sns.ts: no slash, no `..`. */
export function pinnedCertificates(directory: string): Load {
  return async ({ file }) => {
    const handle = await open(join(directory, file), 'r').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw error
    })
    if (!handle) return null
    try {
      const { bytesRead, buffer } = await handle.read({ buffer: Buffer.alloc(MAX_BYTES), length: MAX_BYTES })
      return buffer.toString('utf8', 0, bytesRead)
    } finally {
      await handle.close()
    }
  }
}

type Get = typeof get

/** One GET without redirects, at most MAX_BYTES and FETCH_MS. */
export function fetchedCertificates(fetchFrom: Get = get): Load {
  return ({ url }) =>
    new Promise((resolve, reject) => {
      const request = fetchFrom(url, { agent: false, signal: AbortSignal.timeout(FETCH_MS) }, response => {
        const { statusCode = 0 } = response
        if (statusCode !== 200) {
          response.destroy()
          if (statusCode >= 500 || statusCode === 429) reject(unreachable())
          else resolve(null)
          return
        }
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => {
          text += chunk
          if (text.length > MAX_BYTES) {
            response.destroy()
            resolve(null)
          }
        })
        response.on('end', () => resolve(text))
        response.on('error', reject)
      })
      request.on('error', reject)
    })
}
