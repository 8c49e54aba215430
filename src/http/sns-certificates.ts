import { type KeyObject, X509Certificate } from 'node:crypto'
import { open } from 'node:fs/promises'
import { get } from 'node:https'
import { join } from 'node:path'
import { type CertificatePlace, type CertificateSource, SnsRefused } from './sns.ts'

const MAX_BYTES = 16 * 1024
const FETCH_MS = 5_000
/** AWS changes its certificate about once a year; one region has one or two. */
const MAX_KNOWN = 50
const MAX_REFUSED = 1_000
/** Whoever makes up file names must not make us ask AWS for each of them again and again. */
const REFUSED_MS = 60_000
const UNREACHABLE_MS = 2_000
const MAX_FETCHES = 4

/** null: there is no such certificate. Throws: it could not be had now. */
export type Load = (place: CertificatePlace) => Promise<string | null>

type Known = { key: KeyObject; validToMs: number }

/** Only certificates that hold are remembered; of those that do not, only that they were looked at. */
export function certificateSource(load: Load, options: { pinned: boolean; now?: () => number }): CertificateSource {
  const { pinned, now = Date.now } = options
  const known = new Map<string, Known>()
  const refused = new Map<string, { untilMs: number; refusal: SnsRefused }>()
  const underWay = new Map<string, Promise<KeyObject>>()

  function remember<Value>(map: Map<string, Value>, url: string, value: Value, most: number): void {
    if (map.size >= most) map.delete(map.keys().next().value!)
    map.set(url, value)
  }

  async function find(place: CertificatePlace): Promise<KeyObject> {
    try {
      const pem = await load(place)
      const checked = checkCertificate(pem, place, pinned, now())
      remember(known, place.url, checked, MAX_KNOWN)
      return checked.key
    } catch (error) {
      const refusal = error instanceof SnsRefused ? error : unreachable()
      const ms = refusal.refusal.kind === 'retry' ? UNREACHABLE_MS : REFUSED_MS
      remember(refused, place.url, { untilMs: now() + ms, refusal }, MAX_REFUSED)
      throw refusal
    }
  }

  return async function certificateOf(place) {
    const found = known.get(place.url)
    if (found && found.validToMs > now()) return found.key
    known.delete(place.url)
    const before = refused.get(place.url)
    if (before && before.untilMs > now()) throw before.refusal
    const waiting = underWay.get(place.url)
    if (waiting) return waiting
    if (!pinned && underWay.size >= MAX_FETCHES) throw unreachable()
    const finding = find(place).finally(() => underWay.delete(place.url))
    underWay.set(place.url, finding)
    return finding
  }
}

const unreachable = () =>
  new SnsRefused('retry', 'certificate-unreachable', 'The signing certificate could not be fetched; try again.')

const refuse = (detail: string) => new SnsRefused('refused', 'certificate', detail)

/** A pinned one is trusted by name; a fetched one must say that it is of SNS. */
function checkCertificate(pem: string | null, place: CertificatePlace, pinned: boolean, nowMs: number): Known {
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
  if (!pinned && !namesOf(place).some(name => certificate.checkHost(name, { subject: 'always' }) !== undefined))
    throw refuse('The signing certificate is not one of Amazon SNS.')
  return { key: certificate.publicKey, validToMs: to }
}

/** As in the AWS SDK for Java: the old regions share a name, GovCloud and China have others, and so have regions to opt in to. */
function namesOf({ region, host }: CertificatePlace): string[] {
  if (region.startsWith('cn-')) return [`sns-${region}.amazonaws.com.cn`, host]
  if (region.startsWith('us-gov-')) return ['sns-us-gov-west-1.amazonaws.com', host]
  return ['sns.amazonaws.com', `sns-signing.${region}.amazonaws.com`, host]
}

/** For networks without a way out. The name was checked: it has no slash and no dots but one. */
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

/** One GET, no redirects, some kilobytes, some seconds. */
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
