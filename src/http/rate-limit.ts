import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Draw } from '../contracts/token-bucket.ts'
import type { TokenRequest } from '../db/companies/rate-buckets.ts'
import { Problem } from './problem.ts'

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
