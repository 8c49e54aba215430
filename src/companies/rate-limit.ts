import type { FastifyReply, FastifyRequest } from 'fastify'
import type pg from 'pg'
import { inTransaction } from '../platform/postgres/query.ts'
import { Problem } from '../web/problem.ts'

export type RateLimitDeps = { tokens: { add(request: TokenRequest): Promise<Draw> } }

/** Takes one token per e-mail from the company's bucket and sets the RateLimit headers; 429 when it is empty. */
export async function spendTokens(
  request: FastifyRequest,
  reply: FastifyReply,
  amount: number,
  { tokens }: RateLimitDeps,
): Promise<void> {
  const { companyId, ratePerSecond } = request.key!
  if (ratePerSecond === null) return
  const draw = await tokens.add({ companyId, ratePerSecond, amount })
  reply.headers({
    'ratelimit-limit': String(Math.max(1, Math.floor(ratePerSecond))),
    'ratelimit-remaining': String(draw.remaining),
    'ratelimit-reset': String(draw.granted ? 1 : draw.retryAfterSeconds),
  })
  if (draw.granted) return
  throw new Problem('RATE_LIMITED', {
    detail: `This company may send ${ratePerSecond} e-mails a second; try again in ${draw.retryAfterSeconds} s.`,
    headers: { 'retry-after': String(draw.retryAfterSeconds) },
  })
}

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

type Bucket = { tokens: number; elapsedSeconds: number }
export type Draw = { granted: boolean; remaining: number; retryAfterSeconds: number }

/**
 * Draws the amounts in order. The capacity is one second of the rate (at least 1). A larger amount is granted when the bucket is
 * full and leaves a negative balance: the average rate holds, and a large batch is not refused for ever.
 */
export function drawTokens(
  bucket: Bucket,
  ratePerSecond: number,
  amounts: readonly number[],
): { tokens: number; draws: Draw[] } {
  const capacity = Math.max(1, ratePerSecond)
  let tokens = Math.min(capacity, bucket.tokens + ratePerSecond * Math.max(0, bucket.elapsedSeconds))
  const draws = amounts.map(amount => {
    const needed = Math.min(amount, capacity)
    const granted = tokens >= needed
    if (granted) tokens -= amount
    const retryAfterSeconds = granted ? 0 : Math.max(1, Math.ceil((needed - tokens) / ratePerSecond))
    return { granted, remaining: Math.max(0, Math.floor(tokens)), retryAfterSeconds }
  })
  return { tokens, draws }
}
