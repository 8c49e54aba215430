import type { PastSuppression } from '../../contracts/suppression/view.ts'
import { iso, type Queryable, run } from '../query.ts'

const COLUMNS = `id::text as id, company_id as "companyId", email_hash as "emailHash", action, performed_by as "performedBy",
  ${iso('performed_at')} as "performedAt", reason, metadata`

type Row = Omit<PastSuppression, 'justification'> & { id: string }

const HISTORY_LIMIT = 100

/** The last changes on all lists, newest first: also of entries that are no longer there. */
export async function listHistory(db: Queryable, emailHash: string): Promise<PastSuppression[]> {
  const rows = await run<Row>(
    db,
    'list-suppression-history',
    `select ${COLUMNS} from suppression_audit_log where email_hash = $1 order by id desc limit ${HISTORY_LIMIT}`,
    [emailHash],
  )
  return rows.map(toPast)
}

export const ENDINGS = ['REMOVED', 'EXPIRED'] as const
export type Ending = (typeof ENDINGS)[number]
export type EndedPage = { entries: PastSuppression[]; next: string | null }

/** Entries that were removed, or have expired, newest first. `before`: the id of the last one on the previous page. */
export async function listEnded(
  db: Queryable,
  ending: Ending,
  { before, limit }: { before: string | null; limit: number },
): Promise<EndedPage> {
  const rows = await run<Row>(
    db,
    `list-suppressions-${ending.toLowerCase()}`,
    `select ${COLUMNS} from suppression_audit_log where action = '${ending}' and id < coalesce($1::bigint, 9223372036854775807)
     order by id desc limit $2`,
    [before, limit + 1],
  )
  const shown = rows.slice(0, limit)
  return { entries: shown.map(toPast), next: rows.length > limit ? shown.at(-1)!.id : null }
}

function toPast({ id: _, metadata, ...row }: Row): PastSuppression {
  const { justification, ...rest } = metadata
  return { ...row, metadata: rest, ...(typeof justification === 'string' && { justification }) }
}
