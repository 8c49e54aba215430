export type Bucket = { tokens: number; elapsedSeconds: number }
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
