import type { DnsRecord } from './records.ts'

/** unknown: DNS did not answer. */
export type RecordState = 'found' | 'missing' | 'other' | 'unknown'

/** What DNS has at the name of a record; null: it could not be asked. MX as `10 host`. */
export type FoundValues = readonly string[] | null

/** `other`: there is a record of the same kind with another value. */
export function judgeRecord(record: DnsRecord, found: FoundValues): RecordState {
  if (found === null) return 'unknown'
  const rivals = found.filter(value => isRival(record, value))
  if (rivals.some(value => matches(record, value))) return record.type === 'MX' && rivals.length > 1 ? 'other' : 'found'
  return rivals.length > 0 ? 'other' : 'missing'
}

/** Other TXT records at the same name are nobody's business. */
function isRival({ purpose, type }: DnsRecord, value: string): boolean {
  if (type !== 'TXT') return true
  if (purpose === 'MAIL FROM') return /^v=spf1\b/i.test(value)
  if (purpose === 'DMARC') return /^v=DMARC1\b/i.test(value)
  return purpose === 'DKIM' || value.startsWith('email-gateway-domain=')
}

function matches({ purpose, type, value, priority }: DnsRecord, found: string): boolean {
  // An SPF or DMARC record of the owner's own is as good, as long as it lets the provider send.
  if (purpose === 'DMARC') return true
  if (purpose === 'MAIL FROM' && type === 'TXT')
    return [...value.matchAll(/include:\S+/g)].every(([part]) => found.includes(part))
  const wanted = type === 'MX' ? `${priority} ${value}` : value
  return host(found) === host(wanted)
}

const host = (text: string) => text.replace(/\.$/, '').toLowerCase()
