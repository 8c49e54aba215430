import { Readable } from 'node:stream'
import { decrypt, type KeyRing } from '../contracts/encryption.ts'
import { hashEmail } from '../contracts/hashing.ts'
import { type Person, personHashes } from '../contracts/person.ts'
import { auditExport, listPersonRecords, type PersonRecord, readPersonEmails } from '../db/people/export.ts'
import { type FoundPerson, findPerson, listOtherRecords, listPersonEmails } from '../db/people/find.ts'
import type { Queryable } from '../db/query.ts'
import { findEntries } from '../db/suppression/reads.ts'
import { personQuery } from './erase-person.ts'

/** An e-mail may have a megabyte of content: few are in memory at once. */
const PAGE = 20

export type ExportRequest = { person: Person; companyId: string | null; requestedBy: string }
export type ExportDeps = { db: Queryable; pepper: string; keys: KeyRing }

/**
 * Everything that is kept about a person as one JSON document, written piece by piece:
 * `{exportedAt, addresses, records, suppressions, emails, recordsLeftOut}`. The export itself is audited.
 */
export async function exportPerson(request: ExportRequest, deps: ExportDeps): Promise<Readable> {
  const { person, companyId, requestedBy } = request
  const { db, pepper } = deps
  const found = await findPerson(db, personQuery(person, companyId, pepper))
  await auditExport(db, { subjectHashes: personHashes(person, companyId, pepper), companyId, requestedBy })
  return Readable.from(pieces(found, companyId, deps))
}

async function* pieces(found: FoundPerson, companyId: string | null, { db, keys }: ExportDeps): AsyncGenerator<string> {
  const records = await listPersonRecords(db, found.recipientIds)
  const suppressions = await Promise.all(found.addresses.map(address => suppressionOf(db, address, companyId)))
  const head = {
    exportedAt: new Date().toISOString(),
    addresses: found.addresses,
    records: records.map(record => recordView(record, keys)),
    suppressions,
  }
  yield `${JSON.stringify(head).slice(0, -1)},"emails":[`
  const otherRecords = new Set<string>()
  let count = 0
  let after: string | null = null
  do {
    const page = await listPersonEmails(db, found, companyId, { after, limit: PAGE })
    for (const email of await readPersonEmails(db, page.emails)) yield count++ === 0 ? email : `,${email}`
    for (const id of await listOtherRecords(db, page.emails, found)) otherRecords.add(id)
    after = page.next
  } while (after !== null)
  yield `],"recordsLeftOut":${otherRecords.size}}\n`
}

function recordView({ cpfCnpjCipher, ...record }: PersonRecord, keys: KeyRing) {
  const context = { companyId: record.companyId, column: 'recipients.cpf_cnpj' } as const
  return { ...record, cpfCnpj: cpfCnpjCipher === null ? null : decrypt(cpfCnpjCipher, keys, context) }
}

async function suppressionOf(db: Queryable, address: string, companyId: string | null) {
  const emailHash = hashEmail(address)
  const entries = await findEntries(db, emailHash)
  const visible = entries.filter(one => companyId === null || one.companyId === null || one.companyId === companyId)
  return { address, emailHash, suppressed: visible.length > 0, entries: visible }
}
