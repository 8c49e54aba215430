import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { readEmailHash, type SuppressionRow } from '../contracts/suppression/view.ts'
import type { Database } from '../db/pool.ts'
import { findEntries } from '../db/suppression/reads.ts'
import { Problem } from './problem.ts'
import { listSchema } from './suppression-query.ts'

export const entryParams = z.object({ emailHash: z.string() })
export const entryQuery = z.object({
  company: listSchema.optional().describe('Needed when several lists have the address'),
})

/** Without `?company=`: the entry of the global list, or the only one there is. */
export async function findEntry(db: Database, request: FastifyRequest): Promise<SuppressionRow> {
  const { company } = request.query as z.output<typeof entryQuery>
  const entries = await findEntries(db.pool, hashParam(request.params))
  const wanted = company === undefined || company === 'global' ? null : company
  const entry =
    entries.find(one => one.companyId === wanted) ??
    (company === undefined && entries.length === 1 ? entries[0] : undefined)
  if (entry) return entry
  if (company !== undefined || entries.length === 0) throw new Problem('NOT_SUPPRESSED')
  throw new Problem('NOT_SUPPRESSED', {
    detail: `It is not on the global list, but on those of ${entries.length} companies; name one with ?company=.`,
  })
}

export function hashParam(params: unknown): string {
  const emailHash = readEmailHash((params as z.output<typeof entryParams>).emailHash)
  if (!emailHash)
    throw new Problem('NOT_SUPPRESSED', { detail: 'An address hash is sha256: and 64 hexadecimal digits.' })
  return emailHash
}
