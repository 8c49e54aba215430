import type pg from 'pg'
import type { BulkCounts, NewBulkActionBody } from '../contracts/bulk-actions.ts'
import type { SuppressionTtlDays } from '../contracts/suppression/rules.ts'
import { uuidv7 } from '../contracts/uuid.ts'
import { addItems } from '../db/bulk/batches.ts'
import { type NewBulkAction, putBulkAction } from '../db/bulk/bulk-actions.ts'
import { listCompanies } from '../db/companies/companies.ts'
import { readClock } from '../db/outbox/dead-letters.ts'
import { countWalk } from '../db/outbox/dead-letters-walk.ts'
import { inTransaction } from '../db/query.ts'
import type { DeadLetterItem } from './dead-letter-batch.ts'
import { readImport } from './read-import.ts'

export type BulkRequest = { body: NewBulkActionBody; requestedBy: string; ttlDays: SuppressionTtlDays }

type Prepared = Pick<NewBulkAction, 'selection' | 'companyId' | 'total'> & {
  items: unknown[]
  failed?: number
  counts?: BulkCounts
  problems?: NewBulkAction['problems']
}

const ITEMS_PER_STATEMENT = 5_000

/**
 * Records what is to be done: once committed, it is carried out even if this process dies. A filter is bounded by the time of the
 * request, so dead letters that come later, also by its own replays, are left alone. Throws a CsvProblem when the text is no such CSV.
 */
export async function requestBulkAction(pool: pg.Pool, request: BulkRequest): Promise<string> {
  const { body, requestedBy } = request
  const prepared =
    body.kind === 'import-suppressions'
      ? await prepareImport(pool, body, request)
      : await prepareDeadLetters(pool, body)
  const { items, failed = 0, counts = {}, problems = [], ...rest } = prepared
  const actionId = uuidv7()
  const action = { actionId, kind: body.kind, requestedBy, reason: body.reason, failed, counts, problems, ...rest }
  await inTransaction(pool, async tx => {
    await putBulkAction(tx, action)
    for (let from = 0; from < items.length; from += ITEMS_PER_STATEMENT)
      await addItems(tx, actionId, items.slice(from, from + ITEMS_PER_STATEMENT))
  })
  return actionId
}

type DeadLetterBody = Exclude<NewBulkActionBody, { kind: 'import-suppressions' }>
type ImportBody = Extract<NewBulkActionBody, { kind: 'import-suppressions' }>

async function prepareDeadLetters(pool: pg.Pool, body: DeadLetterBody): Promise<Prepared> {
  if (body.outboxIds) {
    const items = [...new Set(body.outboxIds.map(id => id.toLowerCase()))].map(
      (outboxId): DeadLetterItem => ({ outboxId }),
    )
    return { selection: { chosen: items.length }, companyId: null, total: items.length, items }
  }
  const { company = null, code = null, status = null, since = null, until } = body.filter!
  const now = await readClock(pool)
  const selection = { company, code, status, since, until: until !== undefined && until < now ? until : now }
  const filter = { companyId: company, code, status, since, until: selection.until }
  const total = await countWalk(pool, filter, body.kind === 'purge-dead-letters' ? 'purge' : 'replay')
  return { selection, companyId: company, total, items: [] }
}

async function prepareImport(pool: pg.Pool, body: ImportBody, { ttlDays }: BulkRequest): Promise<Prepared> {
  const companies = await listCompanies(pool)
  const { items, lines, refused, problems } = await readImport({
    csv: body.csv,
    companies: new Map(
      companies.flatMap(({ companyId, name }) => [[name, companyId] as const, [companyId, companyId] as const]),
    ),
    companyId: body.company ?? null,
    ttlDays,
  })
  const companyId = body.company ?? null
  const counts = refused > 0 ? { refused } : {}
  return { selection: { company: companyId, lines }, companyId, total: lines, items, failed: refused, counts, problems }
}
