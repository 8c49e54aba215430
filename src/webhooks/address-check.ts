import { lookup, Resolver } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'

export type Resolved = { address: string; family: 4 | 6 }
/** Every address of a name; throws when there is none. */
export type ResolveName = (name: string) => Promise<Resolved[]>

/** IANA's special-purpose registries, and multicast: nothing in them is a receiver on the internet. */
const SPECIAL_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  // Azure's platform address: public by its number, and answered by the host of every virtual machine.
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
/** Only 2000::/3 is given out at all; these are the exceptions inside and outside of it. */
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
/** Where clouds hand out credentials. Refused also in development: no receiver lives there. */
const METADATA_IPV4 = ['169.254.0.0/16', '168.63.129.16/32', '100.100.100.200/32', '192.0.0.192/32']
const METADATA_IPV6 = ['fd00:ec2::/32', 'fd20:ce::254/128', 'fe80::a9fe:a9fe/128']

const special = blockList(SPECIAL_IPV4, SPECIAL_IPV6)
const metadata = blockList(METADATA_IPV4, METADATA_IPV6)
const globalIpv6 = blockList([], ['2000::/3'])

function blockList(ipv4: string[], ipv6: string[]): BlockList {
  const list = new BlockList()
  for (const [ranges, family] of [
    [ipv4, 'ipv4'],
    [ipv6, 'ipv6'],
  ] as const) {
    for (const range of ranges) {
      const [network, bits] = range.split('/') as [string, string]
      list.addSubnet(network, Number(bits), family)
    }
  }
  return list
}

/** Whether we would connect to it. An IPv6 address that carries an IPv4 one is judged by that one as well. */
export function isForbiddenAddress(address: string, allowPrivate: boolean): boolean {
  const family = isIP(address)
  if (family === 0) return true
  if (family === 4) return (allowPrivate ? metadata : special).check(address, 'ipv4')
  const inner = carriedIpv4(address)
  if (inner?.how === 'mapped') return isForbiddenAddress(inner.address, allowPrivate)
  if (inner && metadata.check(inner.address, 'ipv4')) return true
  if (allowPrivate) return metadata.check(address, 'ipv6')
  return special.check(address, 'ipv6') || !globalIpv6.check(address, 'ipv6')
}

/** IPv4 inside IPv6: mapped (::ffff:a.b.c.d), compatible, NAT64 and 6to4. */
function carriedIpv4(address: string): { how: 'mapped' | 'translated'; address: string } | null {
  const groups = expandIpv6(address)
  const ipv4 = (high: number, low: number) => [high >> 8, high & 255, low >> 8, low & 255].join('.')
  const last = ipv4(groups[6]!, groups[7]!)
  const zeros = (count: number) => groups.slice(0, count).every(group => group === 0)
  if (zeros(5) && groups[5] === 0xffff) return { how: 'mapped', address: last }
  if (zeros(6) || (groups[0] === 0x64 && groups[1] === 0xff9b)) return { how: 'translated', address: last }
  if (groups[0] === 0x2002) return { how: 'translated', address: ipv4(groups[1]!, groups[2]!) }
  return null
}

function expandIpv6(address: string): number[] {
  // The URL parser knows every way to write one, and writes it in one.
  const canonical = new URL(`http://[${address.split('%')[0]}]/`).hostname.slice(1, -1)
  const [head, tail] = canonical.split('::') as [string, string | undefined]
  const groups = (part: string) => (part === '' ? [] : part.split(':').map(group => Number.parseInt(group, 16)))
  const [before, after] = [groups(head), tail === undefined ? [] : groups(tail)]
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after]
}

/** Why we would not deliver there, or null. What a name resolves to is not asked here but at every connection. */
export function refuseWebhookUrl(text: string, allowPrivate: boolean): string | null {
  if (!URL.canParse(text)) return 'must be an absolute URL such as https://example.com/hooks'
  // What URL forgives, other parsers read otherwise.
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

/** Without brackets and without the dot of the root. Decimal, octal and hexadecimal addresses are already written out by URL. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
}

/** Names that have no meaning in the public DNS (RFC 6761, 6762, 8375, 7686, and ICANN's "internal"). */
const PRIVATE_ENDINGS =
  /(^|\.)(localhost|localdomain|local|internal|intranet|lan|home|corp|private|onion|invalid|home\.arpa)$/i

function isPublicName(host: string): boolean {
  return host.includes('.') && !PRIVATE_ENDINGS.test(host)
}

/** The target is not one that we connect to. */
export class ForbiddenAddress extends Error {
  override name = 'ForbiddenAddress'
  readonly code = 'FORBIDDEN_ADDRESS'
}

/**
 * The addresses to connect to, checked: nobody resolves the name again after this. One forbidden address among several
 * refuses them all, since an honest name has none.
 */
export async function resolveChecked(host: string, resolve: ResolveName, allowPrivate: boolean): Promise<Resolved[]> {
  const family = isIP(host)
  const found = family === 0 ? await resolve(host) : [{ address: host, family: family as 4 | 6 }]
  if (found.length === 0) throw Object.assign(new Error('The name has no address'), { code: 'ENOTFOUND' })
  if (found.some(one => isForbiddenAddress(one.address, allowPrivate)))
    throw new ForbiddenAddress('The name leads to a private or special address')
  return found
}

/** Not getaddrinfo: that blocks one of the four threads of the process, and names that hang would stop everybody's. */
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

/** In development also what /etc/hosts knows. */
export const systemResolver: ResolveName = async name =>
  (await lookup(name, { all: true })).map(({ address, family }) => ({ address, family: family as 4 | 6 }))
