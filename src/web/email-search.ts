import { parseBareAddress } from '../platform/text/addresses.ts'
import { hashEmail, readEmailHash } from '../platform/text/hashing.ts'
import { isUuid } from '../platform/text/uuid.ts'

/** A look-up of one e-mail or of one person's: exact, and answered by an index. A recipient is the hash of the address. */
export type EmailLookup = { by: 'id' | 'recipient' | 'externalId' | 'messageId'; value: string }

/** What a text in the search box may be, the likeliest first. The first look-up that finds something is the answer. */
export function recogniseSearch(text: string): EmailLookup[] {
  const given = text.trim()
  const hash = readEmailHash(given)
  if (hash) return [{ by: 'recipient', value: hash }]
  const others: EmailLookup[] = [
    { by: 'externalId', value: given },
    { by: 'messageId', value: given },
  ]
  if (isUuid(given)) return [{ by: 'id', value: given.toLowerCase() }, ...others]
  // A Message-ID of SMTP is written like an address, in angle brackets.
  if (/^<.*>$/.test(given)) return [{ by: 'messageId', value: given }, ...addressLookups(given.slice(1, -1))]
  return [...addressLookups(given), ...others]
}

function addressLookups(text: string): EmailLookup[] {
  if (!text.includes('@')) return []
  const parsed = parseBareAddress(text)
  return parsed.ok ? [{ by: 'recipient', value: hashEmail(parsed.value.normalised) }] : []
}
