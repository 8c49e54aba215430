import type pg from 'pg'
import { type Draw, drawTokens } from '../../contracts/token-bucket.ts'
import { inTransaction } from '../query.ts'

export type TokenRequest = { companyId: string; ratePerSecond: number; amount: number }

/** Draws tokens for requests of any companies. The buckets are rows in Postgres, so the limit holds for all processes together. */
export async function takeTokens(pool: pg.Pool, requests: TokenRequest[]): Promise<Draw[]> {
  const draws = new Map<TokenRequest, Draw>()
  const byCompany = groupByCompany(requests)
  for (const companyId of [...byCompany.keys()].sort()) {
    const own = byCompany.get(companyId)!
    const drawn = await drawFor(
      pool,
      companyId,
      own[0]!.ratePerSecond,
      own.map(request => request.amount),
    )
    own.forEach((request, index) => void draws.set(request, drawn[index]!))
  }
  return requests.map(request => draws.get(request)!)
}

async function drawFor(pool: pg.Pool, companyId: string, ratePerSecond: number, amounts: number[]): Promise<Draw[]> {
  return inTransaction(pool, async tx => {
    // A crash may lose an update, which only means a fuller bucket: not worth an fsync.
    await tx.query('set local synchronous_commit = off')
    await tx.query(
      `insert into rate_buckets (company_id, tokens, refilled_at) values ($1, $2, clock_timestamp()) on conflict do nothing`,
      [companyId, Math.max(1, ratePerSecond)],
    )
    const { rows } = await tx.query<{ tokens: number; elapsed: number }>(
      `select tokens, extract(epoch from clock_timestamp() - refilled_at)::float8 as elapsed
       from rate_buckets where company_id = $1 for update`,
      [companyId],
    )
    const { tokens, draws } = drawTokens(
      { tokens: rows[0]!.tokens, elapsedSeconds: rows[0]!.elapsed },
      ratePerSecond,
      amounts,
    )
    await tx.query(`update rate_buckets set tokens = $2, refilled_at = clock_timestamp() where company_id = $1`, [
      companyId,
      tokens,
    ])
    return draws
  })
}

function groupByCompany(requests: TokenRequest[]): Map<string, TokenRequest[]> {
  const groups = new Map<string, TokenRequest[]>()
  for (const request of requests) {
    const group = groups.get(request.companyId)
    if (group) group.push(request)
    else groups.set(request.companyId, [request])
  }
  return groups
}
