import type { DatabaseClock } from '../clock.ts'
import { isMissingPartition } from '../errors.ts'
import { type Queryable, run } from '../query.ts'
import { writeBatchOrSingly } from '../retries.ts'
import { acceptParameters } from './accept-parameters.ts'
import { acceptStatement } from './accept-statement.ts'
import type { MemberResult, RequestAnswer, RequestToStore, StoreOutcome } from './draft.ts'
import { ensurePartitions } from './partitions.ts'

type AcceptRow = { i: number; status: string; suppressed: string[] | null; queuedAt: string }

const PLAIN = acceptStatement(false)
const FULL = acceptStatement(true)

/** Accepts requests with one commit. A value that Postgres refuses harms its own request only. */
export async function acceptRequests(
  db: Queryable,
  requests: RequestToStore[],
  clock: DatabaseClock | null = null,
): Promise<(StoreOutcome | Error)[]> {
  return writeBatchOrSingly(requests, async some => {
    try {
      return await storeTogether(db, some)
    } catch (error) {
      if (!isMissingPartition(error)) throw error
      await ensurePartitions(db)
      // Or the ids are of another day than the database's. Nothing was written, so they can be made anew.
      if (clock) await renewIds(some, clock)
      return storeTogether(db, some)
    }
  })
}

async function renewIds(requests: RequestToStore[], clock: DatabaseClock): Promise<void> {
  await clock.measure()
  for (const draft of requests.flatMap(request => request.drafts)) {
    draft.outboxId = clock.newId()
    draft.eventId = clock.newId()
  }
}

async function storeTogether(db: Queryable, requests: RequestToStore[]): Promise<(StoreOutcome | Error)[]> {
  const firstUse = withoutRepeatedKeys(requests)
  const { full, parameters } = acceptParameters(firstUse)
  const rows = await run<AcceptRow>(db, full ? 'accept-full' : 'accept-plain', full ? FULL : PLAIN, parameters)
  const outcomes = new Map<RequestToStore, StoreOutcome | null>()
  let next = 0
  for (const request of firstUse) {
    const own = rows.slice(next, next + request.drafts.length)
    next += request.drafts.length
    outcomes.set(
      request,
      own[0]?.status === 'KEY_TAKEN' ? null : { kind: 'answered', replayed: false, answer: answerOf(request, own) },
    )
  }
  // What was accepted is committed: a failing look-up of somebody's key must not reach the neighbours.
  return Promise.all(
    requests.map(request => outcomes.get(request) ?? answerFromKey(db, request).catch((error: Error) => error)),
  )
}

/** Two requests with one key in the same batch: the first is accepted, the others are answered from its record. */
function withoutRepeatedKeys(requests: RequestToStore[]): RequestToStore[] {
  const seen = new Set<string>()
  return requests.filter(({ idempotency, drafts }) => {
    if (!idempotency) return true
    const name = `${drafts[0]!.companyId} ${idempotency.key}`
    if (seen.has(name)) return false
    seen.add(name)
    return true
  })
}

function answerOf(request: RequestToStore, rows: AcceptRow[]): RequestAnswer {
  return {
    requestId: request.drafts[0]!.requestId,
    queuedAt: rows[0]!.queuedAt,
    refusedBefore: request.refusedBefore,
    results: rows.map((row, index) => ({
      index: request.drafts[index]!.index,
      status: row.status as MemberResult['status'],
      outboxId: request.drafts[index]!.outboxId,
      suppressed: row.suppressed ?? [],
    })),
  }
}

type KeyRow = { same: boolean; answer: RequestAnswer }

/** The key has been used before: repeat its answer, or say that the body is another one. */
async function answerFromKey(db: Queryable, request: RequestToStore): Promise<StoreOutcome> {
  const { key, fingerprint } = request.idempotency!
  const [known] = await run<KeyRow>(
    db,
    'read-idempotency-key',
    `select fingerprint = decode($3, 'hex') as same, answer from idempotency_keys
     where company_id = $1 and key = $2 and expires_at > now()`,
    [request.drafts[0]!.companyId, key, fingerprint],
  )
  if (!known) return { kind: 'key-still-running' }
  if (!known.same) return { kind: 'key-used-for-another-body' }
  return { kind: 'answered', replayed: true, answer: known.answer }
}
