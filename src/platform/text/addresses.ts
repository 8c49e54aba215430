import { domainToASCII } from 'node:url'
import { ENCODED_WORD, hasHostileCharacters, hasHostileCharactersInProse } from './characters.ts'

export type MailAddress = {
  input: string
  displayName: string | null
  /** The caller's spelling of the local part, the domain in lower-case ASCII: what goes on the envelope. */
  address: string
  /** All lower-case: what is compared and hashed. */
  normalised: string
  domain: string
}

type AddressProblem = { code: 'INVALID_EMAIL'; message: string }
export type ParsedAddress = { ok: true; value: MailAddress } | { ok: false; problem: AddressProblem }

const MAX_INPUT = 320
const MAX_ADDRESS = 254
const MAX_LOCAL = 64
const MAX_LABEL = 63

const ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
const DOT_ATOM = new RegExp(`^${ATOM}(?:\\.${ATOM})*$`)
const LABEL = '[a-z0-9](?:[a-z0-9-]*[a-z0-9])?'
const HOST_NAME = new RegExp(`^(?:${LABEL}\\.)+[a-z](?:[a-z0-9-]*[a-z0-9])?$`)
/** Characters that domainToASCII removes or reads as the end of the host name. */
export const NOT_IN_DOMAIN = /[\s/\\:%@?#[\]<>^|"'`,;()!*+=&$~{}_]/
const SPECIAL_IN_PHRASE = /[()<>[\]:;@\\,"]/
const PLAIN_PHRASE = /^[^()<>[\]:;@\\,".\s]+(?: +[^()<>[\]:;@\\,".\s]+)*$/
const QUOTED_NAME = /^"((?:[^"\\]|\\.)*)"$/

/** `a@b.c`, `Name <a@b.c>` or `"Name, quoted" <a@b.c>`: exactly one address. Problem messages do not contain it, because they are logged. */
export function parseAddress(input: string): ParsedAddress {
  const text = trimSpaces(input)
  const open = text.endsWith('>') ? text.lastIndexOf('<') : 0
  if (open === -1) return refuse('has a closing bracket without an opening one')
  // A display name may contain emoji joined by U+200D; an address may not.
  const problem = problemOfText(text, text.slice(open))
  if (problem !== null) return refuse(problem)
  if (!text.endsWith('>')) return parsePlain(input, text, null)
  const name = parseName(trimSpaces(text.slice(0, open)))
  if (typeof name === 'object' && name !== null) return refuse(name.problem)
  return parsePlain(input, text.slice(open + 1, -1), name)
}

/** `a@b.c` and nothing else. */
export function parseBareAddress(input: string): ParsedAddress {
  const text = trimSpaces(input)
  const problem = problemOfText(text)
  return problem === null ? parsePlain(input, text, null) : refuse(problem)
}

/** For a header: quotes the name if necessary. The MIME layer encodes names outside ASCII. */
export function formatAddress({ displayName, address }: Pick<MailAddress, 'displayName' | 'address'>): string {
  if (displayName === null) return address
  const name = PLAIN_PHRASE.test(displayName) ? displayName : `"${displayName.replace(/["\\]/g, '\\$&')}"`
  return `${name} <${address}>`
}

function problemOfText(text: string, address = text): string | null {
  if (text === '') return 'is empty'
  if (text.length > MAX_INPUT) return `is longer than ${MAX_INPUT} characters`
  return hasHostileCharacters(address) || hasHostileCharactersInProse(text)
    ? 'contains control, invisible or direction-changing characters'
    : null
}

function parseName(phrase: string): string | null | { problem: string } {
  if (phrase === '') return null
  const quoted = QUOTED_NAME.exec(phrase)
  if (quoted === null && SPECIAL_IN_PHRASE.test(phrase)) {
    return { problem: 'has a display name that must be quoted, or is more than one address' }
  }
  const name = quoted === null ? phrase : trimSpaces(quoted[1]!.replace(/\\(.)/g, '$1'))
  return ENCODED_WORD.test(name) ? { problem: 'has an encoded display name; give it as plain text' } : name || null
}

function parsePlain(input: string, text: string, displayName: string | null): ParsedAddress {
  const at = text.lastIndexOf('@')
  if (at === -1) return refuse('has no @')
  const local = text.slice(0, at)
  const wrongLocal = problemOfLocal(local)
  if (wrongLocal !== null) return refuse(wrongLocal)
  if (text.endsWith(']')) return refuse('has an address literal instead of a domain, which is not supported')
  const domain = asciiDomain(text.slice(at + 1))
  if (domain === null) return refuse('has a domain that is not a valid host name with at least one dot')
  const address = `${local}@${domain}`
  if (address.length > MAX_ADDRESS) return refuse(`is longer than ${MAX_ADDRESS} characters`)
  return { ok: true, value: { input, displayName, address, normalised: address.toLowerCase(), domain } }
}

function problemOfLocal(local: string): string | null {
  if (local.length <= MAX_LOCAL && DOT_ATOM.test(local)) return null
  if (local === '') return 'has nothing before the @'
  if (/[^\x20-\x7e]/.test(local)) return 'has characters outside ASCII before the @, which cannot be delivered'
  if (/[,;:]/.test(local)) return 'is a list or a group; give exactly one address'
  if (local.includes('"')) return 'has a quoted part before the @, which is not supported'
  if (/[()]/.test(local)) return 'has a comment, which is not supported'
  if (local.length > MAX_LOCAL) return `has more than ${MAX_LOCAL} characters before the @`
  if (local.startsWith('.') || local.endsWith('.') || local.includes('..')) return 'has a misplaced dot before the @'
  return 'has characters before the @ that are not allowed'
}

/** Null when it is no host name: literals, single labels, IP addresses in any spelling, numeric top-level domains. */
function asciiDomain(text: string): string | null {
  const lower = text.toLowerCase()
  const isPlain = HOST_NAME.test(lower) && !lower.includes('xn--')
  const domain = isPlain ? lower : internationalDomain(text)
  return domain !== null && labelsFit(domain) ? domain : null
}

function internationalDomain(text: string): string | null {
  if (NOT_IN_DOMAIN.test(text)) return null
  const domain = domainToASCII(text)
  return HOST_NAME.test(domain) ? domain : null
}

function labelsFit(domain: string): boolean {
  return domain.length <= MAX_LABEL || domain.split('.').every(label => label.length <= MAX_LABEL)
}

/** Only U+0020: an address with a tab or a line break is refused, not corrected. */
function trimSpaces(text: string): string {
  return text.startsWith(' ') || text.endsWith(' ') ? text.replace(/^ +/, '').replace(/(?<! ) +$/, '') : text
}

function refuse(what: string): ParsedAddress {
  return { ok: false, problem: { code: 'INVALID_EMAIL', message: `The e-mail address ${what}` } }
}

/** Without its display name. The text itself when it is no address. */
export function bareAddress(text: string): string {
  const parsed = parseAddress(text)
  return parsed.ok ? parsed.value.address : text
}

/** The first eight bytes of an address hash as a Postgres bigint: the narrow key by which recipients are indexed. */
export function addressKey(hash: string): string {
  return BigInt.asIntN(64, BigInt(`0x${hash.slice(7, 23)}`)).toString()
}
