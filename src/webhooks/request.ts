import { lookup, Resolver } from 'node:dns/promises'
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { memoize } from '../platform/cache.ts'
import { parseRetryAfter, type WebhookAnswer } from './schedule.ts'

/** From the DNS look-up to the last byte of the response. */
const TIMEOUT_MS = 10_000
/** Shorter than the keep-alive timeout of most servers. */
const IDLE_MS = 4_000
/** Per host. As many as may be in flight, because many companies may use one host and connections above this are not reused. */
const MAX_IDLE_CONNECTIONS = 512
const CACHED_URLS = 5_000
const MAX_ANSWER_BYTES = 64 * 1024
const STORED_ANSWER_BYTES = 1024
/** 100, 102 and 103 may precede the response; a receiver could send them without end. */
const MAX_INTERIM_ANSWERS = 10

export type PosterOptions = {
  resolve: ResolveName
  allowPrivate: boolean
  timeoutMs?: number
}

export type Posted = WebhookAnswer & { answer: string; durationMs: number }
type Answered = Omit<Posted, 'durationMs'>
export type Post = (url: string, headers: Record<string, string>, body: string) => Promise<Posted>

type AllowedTarget = { refused: null; start: typeof httpRequest; options: RequestOptions; hostHeader: string }
type Target = AllowedTarget | { refused: string }
type Deadline = { over: boolean; onOver: () => void }
type Connecting = { agents: { http: HttpAgent; https: HttpsAgent }; lookup: LookupFunction; allowPrivate: boolean }

/** For URLs chosen by customers: follows no redirects, uses no proxy, checks every address, and limits time and size. */
export function makePoster({ resolve, allowPrivate, timeoutMs = TIMEOUT_MS }: PosterOptions) {
  const keepAlive = { keepAlive: true, timeout: IDLE_MS, maxFreeSockets: MAX_IDLE_CONNECTIONS }
  const agents = { http: new HttpAgent(keepAlive), https: new HttpsAgent(keepAlive) }
  const connecting = { agents, lookup: checkedLookup(resolve, allowPrivate), allowPrivate }
  const targetOf = memoize(CACHED_URLS, (url: string) => readTarget(url, connecting))

  const post: Post = async (url, headers, body) => {
    const startedMs = performance.now()
    const elapsedMs = () => Math.round(performance.now() - startedMs)
    const target = targetOf(url)
    if (target.refused !== null) return { ...noAnswer(`FORBIDDEN_URL: it ${target.refused}`), durationMs: elapsedMs() }
    const deadline: Deadline = { over: false, onOver: () => {} }
    // Not AbortSignal.timeout, which costs ten times as much per request.
    const timer = setTimeout(() => {
      deadline.over = true
      deadline.onOver()
    }, timeoutMs)
    let outcome = await sendRequest(target, headers, body, deadline)
    // The receiver closed the idle connection before it read our request, so a repeat is safe.
    if (outcome === 'stale') outcome = await sendRequest(target, headers, body, deadline)
    clearTimeout(timer)
    return { ...(outcome === 'stale' ? noAnswer('ECONNRESET') : outcome), durationMs: elapsedMs() }
  }

  const close = () => {
    agents.http.destroy()
    agents.https.destroy()
  }
  return { post, close }
}

/** Called once per connection; the socket connects to the addresses that it returns. */
function checkedLookup(resolve: ResolveName, allowPrivate: boolean): LookupFunction {
  return (hostname, options, callback) => {
    resolveChecked(hostname, resolve, allowPrivate).then(
      found => {
        const wanted = options.family === 4 || options.family === 6 ? options.family : null
        const usable = wanted ? found.filter(one => one.family === wanted) : found
        if (options.all) callback(null, usable)
        else callback(null, usable[0]?.address ?? '', usable[0]?.family)
      },
      error => callback(error, []),
    )
  }
}

function readTarget(text: string, { agents, lookup, allowPrivate }: Connecting): Target {
  const refused = refuseWebhookUrl(text, allowPrivate)
  if (refused) return { refused }
  const url = new URL(text)
  const host = hostOf(url)
  const secure = url.protocol === 'https:'
  const options = {
    method: 'POST',
    host,
    port: url.port || (secure ? 443 : 80),
    path: `${url.pathname}${url.search}`,
    agent: secure ? agents.https : agents.http,
    lookup,
    ...(secure && isIP(host) === 0 && { servername: host }),
  }
  return { refused: null, start: secure ? httpsRequest : httpRequest, options, hostHeader: url.host }
}

function sendRequest(
  { start, options, hostHeader }: AllowedTarget,
  headers: Record<string, string>,
  body: string,
  deadline: Deadline,
): Promise<Answered | 'stale'> {
  return new Promise(done => {
    const length = Buffer.byteLength(body)
    const request = start({ ...options, headers: { ...headers, host: hostHeader, 'content-length': length } })
    const answer = new AnswerReader()
    // The first call of done() decides.
    const giveUp = (error: string) => {
      done(answer.result(error))
      request.destroy()
    }
    deadline.onOver = () => giveUp('TIMEOUT')
    request.on('response', response => {
      answer.start(response)
      // Without an Upgrade header Node emits a 101 as an ordinary response.
      if (response.statusCode === 101) return giveUp('UPGRADE_NOT_SUPPORTED')
      response.on('data', (chunk: Buffer) => {
        if (answer.add(chunk)) return
        // The status is known, so the rest is not read; that makes the connection unusable.
        done(answer.result(null))
        request.destroy()
      })
      response.on('end', () => done(answer.result(null)))
      response.on('error', (error: NodeJS.ErrnoException) => giveUp(errorText(error)))
    })
    request.on('upgrade', (response, socket) => {
      socket.destroy()
      answer.start(response)
      giveUp('UPGRADE_NOT_SUPPORTED')
    })
    let interim = 0
    request.on('information', () => {
      if (++interim > MAX_INTERIM_ANSWERS) giveUp('TOO_MANY_INTERIM_ANSWERS')
    })
    request.on('error', (error: NodeJS.ErrnoException) => {
      const stale = request.reusedSocket && !deadline.over && ['ECONNRESET', 'EPIPE'].includes(error.code ?? '')
      done(stale ? 'stale' : answer.result(errorText(error)))
    })
    // 'close' is always the last event; this matters only if none of the others came.
    request.on('close', () => done(answer.result('ECONNRESET')))
    if (deadline.over) deadline.onOver()
    request.end(body)
  })
}

/** Collects status, headers and the beginning of a response. */
class AnswerReader {
  readonly #stored: Buffer[] = []
  #bytes = 0
  #response: Pick<IncomingMessage, 'statusCode' | 'headers'> | null = null

  start(response: IncomingMessage): void {
    this.#response = response
  }

  /** Returns false when the size limit is reached. */
  add(chunk: Buffer): boolean {
    if (this.#bytes < STORED_ANSWER_BYTES) this.#stored.push(chunk)
    this.#bytes += chunk.length
    return this.#bytes < MAX_ANSWER_BYTES
  }

  result(error: string | null): Answered {
    return {
      status: this.#response?.statusCode ?? null,
      error,
      retryAfterMs: parseRetryAfter(this.#response?.headers['retry-after'], new Date()),
      answer: Buffer.concat(this.#stored).subarray(0, STORED_ANSWER_BYTES).toString(),
    }
  }
}

const noAnswer = (error: string): Answered => ({ status: null, error, retryAfterMs: null, answer: '' })

function errorText(error: NodeJS.ErrnoException): string {
  if (error instanceof ForbiddenAddress) return `${error.code}: ${error.message}`
  return error.code ?? error.message.slice(0, 200)
}

export type Resolved = { address: string; family: 4 | 6 }
/** All addresses of a name; throws if there are none. */
export type ResolveName = (name: string) => Promise<Resolved[]>

/**
 * Multicast, and the IANA special-purpose registries, which contain no public servers:
 * https://www.iana.org/assignments/iana-ipv4-special-registry and https://www.iana.org/assignments/iana-ipv6-special-registry
 */
const SPECIAL_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  // Azure's platform address: in a public range, but answered by the host of every virtual machine.
  '168.63.129.16/32',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]
/** Only 2000::/3 is global unicast. These are special ranges inside it, and well-known ones outside it. */
const SPECIAL_IPV6 = [
  '::/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '100:0:0:1::/64',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '2620:4f:8000::/48',
  '3fff::/20',
  '5f00::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
]
/** Cloud metadata services, which return credentials. Refused in development, too. */
const METADATA_IPV4 = ['169.254.0.0/16', '168.63.129.16/32', '100.100.100.200/32', '192.0.0.192/32']
const METADATA_IPV6 = ['fd00:ec2::/32', 'fd20:ce::254/128', 'fe80::a9fe:a9fe/128']
/** Local-use NAT64 (RFC 8215): where it embeds the IPv4 address depends on the network, so all of it is refused. */
const LOCAL_NAT64 = '64:ff9b:1::/48'
const IPV4_MAPPED = '::ffff:0:0/96'

const special = blockList(SPECIAL_IPV4, SPECIAL_IPV6)
const metadata = blockList(METADATA_IPV4, [...METADATA_IPV6, ...METADATA_IPV4.flatMap(embeddedInIpv6), LOCAL_NAT64])
const globalIpv6 = blockList([], ['2000::/3', IPV4_MAPPED])

function blockList(ipv4: string[], ipv6: string[]): BlockList {
  const list = new BlockList()
  for (const [network, bits] of ipv4.map(splitRange)) list.addSubnet(network, bits, 'ipv4')
  for (const [network, bits] of ipv6.map(splitRange)) list.addSubnet(network, bits, 'ipv6')
  return list
}

function splitRange(range: string): [network: string, bits: number] {
  const [network, bits] = range.split('/') as [string, string]
  return [network, Number(bits)]
}

/**
 * The range as IPv4-compatible, NAT64 and 6to4 addresses. BlockList itself matches IPv4-mapped ones:
 * https://nodejs.org/api/net.html#blocklistcheckaddress-type
 */
function embeddedInIpv6(range: string): string[] {
  const [network, bits] = splitRange(range)
  const [a, b, c, d] = network.split('.').map(Number) as [number, number, number, number]
  const sixToFour = `2002:${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}::`
  return [`::${network}/${96 + bits}`, `64:ff9b::${network}/${96 + bits}`, `${sixToFour}/${16 + bits}`]
}

export function isForbiddenAddress(address: string, allowPrivate: boolean): boolean {
  const family = isIP(address)
  if (family === 0) return true
  if (family === 4) return (allowPrivate ? metadata : special).check(address, 'ipv4')
  if (allowPrivate) return metadata.check(address, 'ipv6')
  return special.check(address, 'ipv6') || !globalIpv6.check(address, 'ipv6')
}

/** Why webhooks must not be sent to this URL, or null. The addresses of a name are checked at every connection, not here. */
export function refuseWebhookUrl(text: string, allowPrivate: boolean): string | null {
  if (!URL.canParse(text)) return 'must be an absolute URL such as https://example.com/hooks'
  // URL accepts these, but other parsers read such a text as another URL.
  if (/[\\\s]/.test(text)) return 'must not contain a backslash or white space'
  const url = new URL(text)
  if (url.protocol === 'http:' && !allowPrivate)
    return 'must be an https URL; http is for development only, where the gateway is started with WEBHOOK_ALLOW_PRIVATE=true'
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must be an https URL'
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password'
  if (url.hash !== '') return 'must not contain a fragment'
  if (!allowPrivate && url.port !== '' && Number(url.port) < 1024 && url.port !== '80')
    return 'must use port 443, or one above 1023'
  const host = hostOf(url)
  if (host === '') return 'must name a host'
  if (isIP(host) !== 0)
    return isForbiddenAddress(host, allowPrivate) ? 'must not be a private or special address' : null
  return !allowPrivate && !isPublicName(host) ? 'must name a host of the public internet' : null
}

/** Without brackets and final dot. URL has already normalised decimal, octal and hexadecimal IPv4 addresses. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
}

/** Names that are not in the public DNS (RFC 6761, 6762, 8375, 7686, and ICANN's "internal"). */
const PRIVATE_ENDINGS =
  /(^|\.)(localhost|localdomain|local|internal|intranet|lan|home|corp|private|onion|invalid|home\.arpa)$/i

function isPublicName(host: string): boolean {
  return host.includes('.') && !PRIVATE_ENDINGS.test(host)
}

export class ForbiddenAddress extends Error {
  override name = 'ForbiddenAddress'
  readonly code = 'FORBIDDEN_ADDRESS'
}

/**
 * The socket connects to exactly these addresses, without resolving the name again (DNS rebinding). One forbidden address refuses
 * the whole name, because a legitimate name has none.
 */
export async function resolveChecked(host: string, resolve: ResolveName, allowPrivate: boolean): Promise<Resolved[]> {
  const family = isIP(host)
  const found = family === 0 ? await resolve(host) : [{ address: host, family: family as 4 | 6 }]
  if (found.length === 0) throw Object.assign(new Error('The name has no address'), { code: 'ENOTFOUND' })
  if (found.some(one => isForbiddenAddress(one.address, allowPrivate)))
    throw new ForbiddenAddress('The name leads to a private or special address')
  return found
}

/** Not getaddrinfo, which blocks one of libuv's four threads: a few names that hang would stop all look-ups and file access. */
export function publicResolver(): ResolveName {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 })
  return async name => {
    const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    if (ipv4.status === 'rejected' && ipv6.status === 'rejected') throw ipv4.reason
    const of = (found: PromiseSettledResult<string[]>, family: 4 | 6) =>
      found.status === 'fulfilled' ? found.value.map(address => ({ address, family })) : []
    return [...of(ipv4, 4), ...of(ipv6, 6)]
  }
}

/** For development: also reads /etc/hosts. */
export const systemResolver: ResolveName = async name =>
  (await lookup(name, { all: true })).map(({ address, family }) => ({ address, family: family as 4 | 6 }))
