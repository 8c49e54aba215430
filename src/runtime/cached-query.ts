/** However long a query takes, at most this part of the time is spent on it, unless the caller says otherwise. */
const MAX_SHARE = 1 / 50

/** Queries at most once in `keepMs`, and once at a time for all callers. A failure is not cached. */
export function cachedQuery<T>(
  keepMs: number,
  ask: () => Promise<T>,
  { nowMs = () => performance.now(), maxShare = MAX_SHARE } = {},
): () => Promise<T> {
  let answer: Promise<T> | null = null
  let staleAtMs = Number.POSITIVE_INFINITY
  return function read() {
    if (answer && nowMs() < staleAtMs) return answer
    const askedMs = nowMs()
    staleAtMs = Number.POSITIVE_INFINITY
    answer = ask().then(
      value => {
        staleAtMs = nowMs() + Math.max(keepMs, (nowMs() - askedMs) / maxShare)
        return value
      },
      error => {
        answer = null
        throw error
      },
    )
    return answer
  }
}
