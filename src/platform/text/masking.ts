import { parseAddress } from './addresses.ts'
import { isValidCpfCnpj, normaliseDocument } from './documents.ts'

/** user@example.com → u***@e***.com */
export function maskEmail(email: string): string {
  const at = email.lastIndexOf('@')
  if (at < 0) return '***'
  const domain = email.slice(at + 1)
  const dot = domain.lastIndexOf('.')
  const ending = dot < 1 ? '' : domain.slice(dot)
  return `${firstCharacter(email.slice(0, at))}***@${firstCharacter(domain)}***${ending}`
}

/** Keeps the two check digits, which help to distinguish documents in a log and reveal almost nothing. */
export function maskDocument(document: string): string {
  const plain = normaliseDocument(document)
  if (plain.length === 11) return `***.***.***-${plain.slice(-2)}`
  if (plain.length === 14) return `**.***.***/****-${plain.slice(-2)}`
  return '***'
}

/**
 * For log lines and error messages: masks every address, CPF, CNPJ and API key in the text, and rather too much than too little.
 * Takes time linear in the length of any text.
 */
export function maskSensitive(text: string): string {
  return maskDocumentsIn(maskAddressesIn(text.replaceAll(API_KEY, '$1_***')))
}

/** The id of a key may be read; the error message that quotes the key may have cut it. */
const API_KEY = /(sk_(?:live|test)_[0-9a-z]{16})_[0-9A-Za-z]{8,}/g

const MAX_DEPTH = 6
const MAX_TEXT = 1000

/** For metadata from providers (diagnostic codes, user agents): masks and shortens every string, and removes what Postgres cannot store. */
export function maskDeep(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return maskSensitive(value.slice(0, MAX_TEXT).replaceAll('\0', '').toWellFormed())
  if (value === null || typeof value !== 'object') return value
  if (depth >= MAX_DEPTH) return null
  if (Array.isArray(value)) return value.map(item => maskDeep(item, depth + 1))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, maskDeep(item, depth + 1)]))
}

/** For answers to viewers: masks every string of a value that is about to become JSON, names of fields included. */
export function maskAnswer(value: unknown, field = ''): unknown {
  if (typeof value === 'string') return isAddressField(value, field) ? maskAddressField(value) : maskText(value)
  if (value === null || typeof value !== 'object') return value
  if ('toJSON' in value && typeof value.toJSON === 'function') return maskAnswer(value.toJSON())
  if (Array.isArray(value)) return value.map(item => maskAnswer(item, field))
  const isRecipient = 'kind' in value && RECIPIENT_FIELDS.includes(String(value.kind))
  const isPerson = 'address' in value && typeof value.address === 'string' && value.address.includes('@')
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      maskSensitive(key),
      isPerson && key === 'name' && typeof item === 'string'
        ? maskName(item)
        : maskAnswer(item, isRecipient && key === 'address' ? 'to' : key),
    ]),
  )
}

const RECIPIENT_FIELDS = ['to', 'cc', 'bcc']

/** A time, as in the bounds of a range, is none. */
const isAddressField = (text: string, field: string) =>
  RECIPIENT_FIELDS.includes(field) && /[@.]/.test(text) && !/^\d{4}-\d\d-\d\dT/.test(text)

/** What stands where an address belongs names a person, however it is mistyped: `maria.silva @example.com`. */
function maskAddressField(text: string): string {
  const masked = maskText(text)
  if (masked !== text) return masked
  return text.includes('@') ? maskEmail(text) : maskName(text)
}

/** Rafael Ribeiro → R***: a name beside a masked address would say whose it is. */
const maskName = (name: string) => `${firstCharacter(name)}***`

/** A text that is an address is masked as one: in a sentence, `/`, `?`, `&` and `%40` would be taken for parts of a URL around it. */
function maskText(text: string): string {
  // What an application wrote by SQL need not be a valid address: a mistyped one names a person, too.
  if (/^[^\s@]+@[^\s@]+$/.test(text)) return maskEmail(text)
  const parsed = text.includes('@') ? parseAddress(text) : null
  if (!parsed?.ok) return maskSensitive(text)
  const { displayName, address } = parsed.value
  return displayName === null ? maskEmail(address) : `${maskName(displayName)} <${maskEmail(address)}>`
}

// %40: the @ in a URL query (GET /v1/suppression/check?email=…). The others look like an @ to people.
const AT_SIGN = /@|%40|＠|&#64;|&#x40;|&commat;/gi
const LOCAL_PART = /[^\s@<>()[\]:;,"\\]/
// The star, so that masking a masked address again changes nothing.
const DOMAIN = /[\p{L}\p{N}\p{M}*._[\]-]*/uy
const QUOTED_LOCAL_PART_MAX = 66

// An address may contain these characters too, but in a log line they are part of a path, a parameter or a quotation.
const BEFORE_ADDRESS =
  /^(?:.*[/?&])?(?:(?:e-?mail|to|from|cc|bcc|reply_?to|recipient|rcpt|sender|user|address|search|q)=)?['`{|]*/is

function maskAddressesIn(text: string): string {
  let masked = ''
  let done = 0
  let escaped = { start: 0, end: 0 }
  let afterLastSign = 0
  for (const sign of text.matchAll(AT_SIGN)) {
    let start = startOfLocalPart(text, Math.max(done, afterLastSign), sign.index)
    // Only the sign itself ends a local part: that of `%40@example.com` is %40.
    if (start === escaped.end) start = escaped.start
    afterLastSign = sign.index + sign[0].length
    if (sign[0] !== '@') escaped = { start, end: afterLastSign }
    const local = text.slice(start, sign.index)
    const domain = domainAt(text, afterLastSign)
    // `a%40b.com@c.com`: a second domain belongs to the address before it.
    const continues = sign.index === done && done > 0 && domain !== ''
    if (!continues && !looksLikeAddress(local, domain)) continue
    masked += continues ? maskEmail(`*@${domain}`).slice(3) : text.slice(done, start) + maskEmail(`${local}@${domain}`)
    done = afterLastSign + domain.length
    escaped = { start: done, end: done }
  }
  return masked + text.slice(done)
}

function startOfLocalPart(text: string, from: number, at: number): number {
  if (text[at - 1] === '"') return startOfQuotedLocalPart(text, from, at)
  let start = at
  while (start > from && LOCAL_PART.test(text[start - 1]!)) start--
  const before = BEFORE_ADDRESS.exec(text.slice(start, at))![0].length
  return start + before < at ? start + before : start
}

function startOfQuotedLocalPart(text: string, from: number, at: number): number {
  const earliest = Math.max(from, at - QUOTED_LOCAL_PART_MAX)
  const opening = text.slice(earliest, at - 1).lastIndexOf('"')
  return opening < 0 ? at : earliest + opening
}

function domainAt(text: string, from: number): string {
  DOMAIN.lastIndex = from
  let domain = DOMAIN.exec(text)![0]
  while (domain.endsWith('.') || domain.endsWith('-')) domain = domain.slice(0, -1)
  return domain
}

/** Not a version such as `zod@4.6.7` (no domain ends in a number) and not a path such as `node_modules/@fastify`. */
function looksLikeAddress(local: string, domain: string): boolean {
  if (local === '' || domain === '' || /(?:^|\.)\d+$/.test(domain)) return false
  return domain.includes('.') || !local.endsWith('/')
}

// Ids and hashes must stay readable, and one in some thousand contains digits that look like a document.
const IDENTIFIER = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{20,}/
const DOCUMENT_SHAPES = [
  /(?<![0-9a-z])[0-9a-z]{2}\.?[0-9a-z]{3}\.?[0-9a-z]{3}(?:\\?\/|%2F)?[0-9a-z]{4}-?\d{2}(?![0-9a-z])/,
  /(?<!\d)\d{2}[. -]?\d{3}[. -]?\d{3}(?:\\?\/|%2F|[ -])?\d{4}[ -]?\d{2}(?!\d)/,
  /(?<!\d)\d{3}[. -]?\d{3}[. -]?\d{3}[-/ ]?\d{2}(?!\d)/,
].map(shape => new RegExp(`${IDENTIFIER.source}|${shape.source}`, 'gi'))

const FULLY_PUNCTUATED = /^(?:\d{3}\.\d{3}\.\d{3}-\d{2}|[0-9a-z]{2}\.[0-9a-z]{3}\.[0-9a-z]{3}\/[0-9a-z]{4}-\d{2})$/i

/** All shapes end with two check digits and have eleven characters or more; most texts of a log line have not. */
const CHECK_DIGITS = /\d{2}/
const SHORTEST_DOCUMENT = 11

function maskDocumentsIn(text: string): string {
  if (text.length < SHORTEST_DOCUMENT || !CHECK_DIGITS.test(text)) return text
  return DOCUMENT_SHAPES.reduce((masked, shape) => masked.replace(shape, maskIfDocument), text)
}

/** With full punctuation it is masked even if mistyped; otherwise its check digits must be correct. */
function maskIfDocument(match: string): string {
  const document = match.replace(/\\?\/|%2F/i, '/')
  return FULLY_PUNCTUATED.test(document) || isValidCpfCnpj(normaliseDocument(document)) ? maskDocument(document) : match
}

function firstCharacter(text: string): string {
  return text === '' || text.startsWith('*') ? '' : String.fromCodePoint(text.codePointAt(0)!)
}
