import { setTimeout as sleep } from 'node:timers/promises'
import { countDeadLetters, type DeadLetterCursor, type DeadLetterFilter, readClock } from '../outbox/dead-letters.ts'
import { type NamedReplay, type ReplayedBite, replayByIds, replayDeadLetters } from '../outbox/dead-letters-replay.ts'
import type { Queryable } from '../platform/postgres/query.ts'

/** One commit each: 10 000 entries take seconds, and nobody waits for a lock longer than a bite takes. */
const BITE = 500
const PAUSE_MS = 100
const PATIENCE_PAUSES = 300

/** Somebody holds entries and does not let go: the caller may try again. */
export class EntriesHeld extends Error {
  override name = 'EntriesHeld'
}

export type ReplayOptions = {
  by: string
  limit?: number
  onProgress?: (replayed: number, total: number) => void
}

export type ReplaySummary = {
  replayed: number
  /** outcomeUnknown: may have been sent, and was not asked for by its code. */
  skipped: { payloadPurged: number; outcomeUnknown: number; notFound: number }
}

/**
 * Replays what was in the queue when it was called; what fails again meanwhile is newer and stays. Killed in the middle, it
 * has replayed whole bites, and the next call goes on.
 */
export async function replayMatching(
  db: Queryable,
  filter: DeadLetterFilter,
  { by, limit = Number.POSITIVE_INFINITY, onProgress = () => {} }: ReplayOptions,
): Promise<ReplaySummary> {
  const bounded = { ...filter, until: earlier(filter.until, await readClock(db)) }
  const { replayable, payloadPurged, outcomeUnknown } = await countDeadLetters(db, bounded)
  const total = Math.min(replayable, limit)
  let replayed = 0
  // Walk after walk: what somebody else held is there for the next one, unless it was replayed or has moved on.
  for (let left = replayable, pauses = 0; left > 0 && replayed < limit; ) {
    const before = replayed
    for await (const bite of bites(db, bounded, by, () => limit - replayed)) {
      replayed += bite
      if (bite > 0) onProgress(replayed, Math.max(total, replayed))
    }
    left = (await countDeadLetters(db, bounded)).replayable
    pauses = replayed > before ? 0 : pauses + 1
    if (left > 0 && pauses > 0) await pause(pauses)
  }
  return { replayed, skipped: { payloadPurged, outcomeUnknown, notFound: 0 } }
}

/** From the oldest entry to the newest; how many of each bite were replayed. */
async function* bites(db: Queryable, filter: DeadLetterFilter, by: string, left: () => number): AsyncGenerator<number> {
  let after: DeadLetterCursor | null = null
  while (left() > 0) {
    const bite: ReplayedBite = await replayDeadLetters(db, filter, { by, after, limit: Math.min(BITE, left()) })
    if (bite.last === null) return
    after = bite.last
    yield bite.replayed
  }
}

/**
 * Each by its id, an expired e-mail too; the answer has one outcome for each id, none of them `busy`. `replayBite` is for callers that
 * write something in the same transaction.
 */
export async function replayNamed<Db extends Queryable>(
  db: Db,
  outboxIds: string[],
  by: string,
  replayBite: (db: Db, outboxIds: string[], by: string) => Promise<NamedReplay[]> = replayByIds,
): Promise<NamedReplay[]> {
  const outcomes: NamedReplay[] = []
  let waiting = [...new Set(outboxIds.map(id => id.toLowerCase()))]
  for (let pauses = 0; waiting.length > 0; ) {
    const bite = await replayBite(db, waiting.slice(0, BITE), by)
    const busy = bite.filter(one => one.outcome === 'busy')
    outcomes.push(...bite.filter(one => one.outcome !== 'busy'))
    waiting = [...waiting.slice(BITE), ...busy.map(one => one.outboxId)]
    if (busy.length > 0) await pause(++pauses)
  }
  return outcomes
}

async function pause(pauses: number): Promise<void> {
  if (pauses > PATIENCE_PAUSES)
    throw new EntriesHeld('Some entries are held by somebody else and were not replayed. Run it again.')
  await sleep(PAUSE_MS)
}

function earlier(until: string | null, now: string): string {
  return until !== null && Date.parse(until) < Date.parse(now) ? until : now
}
