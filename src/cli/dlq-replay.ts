import type pg from 'pg'
import { countDeadLetters, OUTCOME_UNKNOWN } from '../db/outbox/dead-letters.ts'
import { checkByIds, firstDeadLetters } from '../db/outbox/dead-letters-dry-run.ts'
import { type NamedReplay, replayByIds } from '../db/outbox/dead-letters-replay.ts'
import { inTransaction } from '../db/query.ts'
import { EntriesHeld, type ReplaySummary, replayMatching, replayNamed } from '../sending/replay-dead-letters.ts'
import { type Answer, CommandFailed, type FailureCode, type Opened, UsageError, writing } from './command.ts'
import { type Action, LIMIT_MAX, requireSelection, SELECTION_OPTIONS } from './dlq-action.ts'
import { auditDeadLetters } from './dlq-audit.ts'
import { filterOf, type GivenFilter, limitOf, readFilter } from './dlq-filter.ts'
import { DRY_RUN_ENTRIES, dryRunLines } from './dlq-lines.ts'
import { entries } from './plural.ts'
import { progressOn } from './progress.ts'

const PERFORMED_BY = 'command line'

export const replay: Action = {
  options: [...SELECTION_OPTIONS, 'dry-run'],
  prepare(values, ids) {
    const given = readFilter(values)
    const limit = limitOf(values, LIMIT_MAX)
    const dryRun = values['dry-run'] === true
    if (ids.length > 0) {
      if (SELECTION_OPTIONS.some(name => values[name] !== undefined))
        throw new UsageError('give ids or a filter, not both')
      return writing(opened => replayIds(opened, ids, dryRun))
    }
    requireSelection(values, 'the ids to replay')
    return writing(opened => (dryRun ? dryRunFilter(opened, given, limit) : replayFilter(opened, given, limit)))
  },
}

async function replayIds({ db }: Opened, ids: string[], dryRun: boolean): Promise<Answer> {
  if (!dryRun) {
    const outcomes = await replayNamed(db.short, ids, PERFORMED_BY, replayAudited).catch(rethrowHeld)
    return namedAnswer(outcomes, 'Replayed')
  }
  const checked = await checkByIds(db.pool, [...new Set(ids.map(id => id.toLowerCase()))])
  const { json, ...answer } = namedAnswer(checked, 'Would replay')
  return { json: { dryRun: true, ...(json as ReplaySummary) }, ...answer }
}

/** A command that is killed in the middle has replayed nothing without its entry in the audit log. */
function replayAudited(pool: pg.Pool, outboxIds: string[], by: string): Promise<NamedReplay[]> {
  return inTransaction(pool, async tx => {
    const outcomes = await replayByIds(tx, outboxIds, by)
    const replayed = outcomes.filter(one => one.outcome === 'replayed').map(one => one.outboxId)
    await auditDeadLetters(tx, 'REPLAYED', { ids: replayed })
    return outcomes
  })
}

async function replayFilter({ db }: Opened, given: GivenFilter, limit: number | undefined): Promise<Answer> {
  const progress = progressOn(process.stderr)
  const options = { by: PERFORMED_BY, onProgress: progress.show, ...(limit !== undefined && { limit }) }
  const filter = await filterOf(db, given)
  await auditDeadLetters(db.pool, 'REPLAYED', { filter, limit })
  const summary = await replayMatching(db.short, filter, options).catch(rethrowHeld).finally(progress.end)
  return { json: summary, lines: [summaryLine('Replayed', summary)] }
}

async function dryRunFilter({ db }: Opened, given: GivenFilter, limit = LIMIT_MAX): Promise<Answer> {
  const filter = await filterOf(db, given)
  const { replayable, payloadPurged, outcomeUnknown } = await countDeadLetters(db.pool, filter)
  const first = await firstDeadLetters(db.pool, filter, { use: 'replay', limit: Math.min(DRY_RUN_ENTRIES, limit) })
  const replayed = Math.min(replayable, limit)
  const summary = { replayed, skipped: { payloadPurged, outcomeUnknown, notFound: 0 } }
  return {
    json: { dryRun: true, ...summary, first },
    lines: [summaryLine('Would replay', summary), ...dryRunLines(first, replayed)],
  }
}

function rethrowHeld(error: unknown): never {
  throw error instanceof EntriesHeld ? new CommandFailed(error.message, 'EMAIL_LOCKED') : error
}

/** Exit code 1 when some were not replayed; when none was, the command fails without an answer. */
function namedAnswer(outcomes: NamedReplay[], verb: string): Answer {
  const count = (outcome: NamedReplay['outcome']) => outcomes.filter(one => one.outcome === outcome).length
  const failed = outcomes.filter(one => one.outcome !== 'replayed').map(failureSentence)
  if (failed.length === outcomes.length) throw new CommandFailed(failed.join('\n'), codeOfNone(outcomes))
  const skipped = { payloadPurged: count('payload-purged'), outcomeUnknown: 0, notFound: count('not-found') }
  const summary: ReplaySummary = { replayed: count('replayed'), skipped }
  return { json: summary, lines: [summaryLine(verb, summary), ...failed], ...(failed.length > 0 && { exitCode: 1 }) }
}

/** When no entry was replayed, and all for the same reason, the failure has its code. */
function codeOfNone(outcomes: NamedReplay[]): FailureCode {
  const all = (outcome: NamedReplay['outcome']) => outcomes.every(one => one.outcome === outcome)
  if (all('payload-purged')) return 'CONTENT_GONE'
  return all('not-found') ? 'NOT_FOUND' : 'FAILED'
}

function failureSentence({ outboxId, outcome, status }: NamedReplay): string {
  if (status === null) return `There is no e-mail ${outboxId}.`
  if (outcome === 'payload-purged') return `${outboxId} cannot be replayed: its payload was purged.`
  return `${outboxId} is not in the dead letter queue: the e-mail is ${status}.`
}

function summaryLine(verb: string, { replayed, skipped }: ReplaySummary): string {
  const { payloadPurged, outcomeUnknown, notFound } = skipped
  const reasons = [
    ...(payloadPurged > 0 ? [`${payloadPurged} payload purged`] : []),
    ...(outcomeUnknown > 0
      ? [`${outcomeUnknown} that may have been sent already (--code ${OUTCOME_UNKNOWN} replays them)`]
      : []),
    ...(notFound > 0 ? [`${notFound} not found`] : []),
  ]
  return `${verb} ${entries(replayed)}${reasons.length > 0 ? `, skipped: ${reasons.join(', ')}` : ''}`
}
