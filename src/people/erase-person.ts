import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { parseBareAddress } from '../contracts/addresses.ts'
import { hashDocument } from '../contracts/hashing.ts'
import {
  type ErasedCounts,
  type ErasureReceipt,
  type Person,
  personAddressHash,
  personHashes,
} from '../contracts/person.ts'
import { uuidv7 } from '../contracts/uuid.ts'
import { cancelEmail } from '../db/outbox/schedule.ts'
import {
  eraseEmails,
  eraseProviderEvents,
  expireUnknownSends,
  lockDeliveries,
  takeEmailsToErase,
  takeOff,
} from '../db/people/erase-emails.ts'
import {
  addErasedCounts,
  endErasure,
  endSearch,
  findReceipt,
  isMovingErasure,
  listForErasure,
  listOpenErasures,
  lockErasure,
  type OpenErasure,
  putErasure,
} from '../db/people/erasures.ts'
import { findPerson, listOtherRecords, listPersonEmails } from '../db/people/find.ts'
import { inTransaction, type Queryable } from '../db/query.ts'

/** One commit each, so that nobody waits long for a lock and a crash loses little. */
const BATCH = 200
const PAUSE_MS = 200

export type ErasureRequest = { person: Person; companyId: string | null; requestedBy: string; pepper: string }

/** Records the request. eraseWithin carries it out, and any worker does. */
export async function requestErasure(db: Queryable, request: ErasureRequest): Promise<string> {
  const { person, companyId, requestedBy, pepper } = request
  const found = await findPerson(db, personQuery(person, companyId, pepper))
  const erasureId = uuidv7()
  const subjectHashes = personHashes(person, companyId, pepper)
  const foundHashes = found.addresses.map(address => personAddressHash(address, pepper))
  await putErasure(db, { erasureId, companyId, subjectHashes, foundHashes, requestedBy, ...found })
  return erasureId
}

export const personQuery = (person: Person, companyId: string | null, pepper: string) => ({
  companyId,
  email: person.email ?? null,
  documentHash: person.cpf === undefined ? null : hashDocument(person.cpf, pepper),
  externalId: person.externalId ?? null,
})

/** Erases for so long, or until nothing is left or moves. Then the workers go on: what is being sent is erased when it has ended. */
export async function eraseWithin(pool: pg.Pool, erasureId: string, patienceMs: number): Promise<ErasureReceipt> {
  const deadlineMs = performance.now() + patienceMs
  const isOver = () => performance.now() > deadlineMs
  await eraseUnless(isOver, pool, erasureId)
  while (!isOver() && (await isMovingErasure(pool, erasureId))) {
    await sleep(PAUSE_MS)
    await eraseUnless(isOver, pool, erasureId)
  }
  return (await findReceipt(pool, erasureId))!
}

/** For housekeeping: everything that a crash, a restart or an e-mail in flight has left. */
export async function continueErasures(pool: pg.Pool): Promise<void> {
  for (const erasureId of await listOpenErasures(pool)) await eraseUnless(() => false, pool, erasureId)
}

/** Until nothing can be erased now. Each batch is one commit, so it may be killed at any moment and called again. */
async function eraseUnless(isOver: () => boolean, pool: pg.Pool, erasureId: string): Promise<void> {
  while (!isOver() && (await inTransaction(pool, tx => eraseBatch(tx, erasureId)))) {}
}

/** Answers whether there may be more to do now. */
async function eraseBatch(tx: Queryable, erasureId: string): Promise<boolean> {
  const erasure = await lockErasure(tx, erasureId)
  if (!erasure) return false
  if (erasure.state === 'searching') return search(tx, erasureId, erasure)
  await expireUnknownSends(tx, erasureId)
  const emails = await takeEmailsToErase(tx, erasureId, BATCH)
  if (emails.length === 0) {
    await endErasure(tx, erasureId)
    return false
  }
  const shared = emails.filter(email => email.next === 'take-off')
  const own = emails.filter(email => email.next !== 'take-off')
  const takenOff = await takeOff(tx, erasureId, shared)
  const held = await lockDeliveries(
    tx,
    own.map(email => email.outboxId),
  )
  const free = own.filter(email => !held.has(email.outboxId))
  const waiting = free.filter(email => email.next === 'cancel')
  for (const { outboxId } of waiting) await cancelEmail(tx, outboxId, null, 'erasure')
  const erased = await eraseEmails(tx, erasureId, free)
  await addErasedCounts(tx, erasureId, { ...sum(erased, takenOff), cancelled: waiting.length })
  return shared.length + free.length > 0
}

/** Lists all e-mails of the person, then forgets what was searched for. Killed, it begins again and lists the same. */
async function search(tx: Queryable, erasureId: string, erasure: OpenErasure): Promise<boolean> {
  // Nothing was sent to a text that is no address, and a short one could be a part of somebody else's address.
  const sendable = erasure.addresses.filter(address => parseBareAddress(address).ok)
  const events = await eraseProviderEvents(tx, sendable)
  await addErasedCounts(tx, erasureId, { providerEvents: events.erased })
  if (events.waiting > 0) return false
  const otherRecords = new Set<string>()
  let after: string | null = null
  do {
    const page = await listPersonEmails(tx, erasure, erasure.companyId, { after, limit: BATCH })
    await listForErasure(tx, erasureId, page.emails)
    for (const id of await listOtherRecords(tx, page.emails, erasure)) otherRecords.add(id)
    after = page.next
  } while (after !== null)
  await endSearch(tx, erasureId, otherRecords.size)
  return true
}

function sum(a: Partial<ErasedCounts>, b: Partial<ErasedCounts>): Partial<ErasedCounts> {
  return { ...a, ...b, recipients: (a.recipients ?? 0) + (b.recipients ?? 0) }
}
