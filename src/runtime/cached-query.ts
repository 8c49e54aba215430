/** However dear the answer gets, asking takes at most this part of the time. */
const SHARE = 1 / 50

/** Asks at most once in `keepMs`, and once at a time for all who want to know. A failure is not remembered. */
export function cachedQuery<T>(
  keepMs: number,
  ask: () => Promise<T>,
  nowMs = () => performance.now(),
): () => Promise<T> {
  let answer: Promise<T> | null = null
  let staleAtMs = Number.POSITIVE_INFINITY
  return function read() {
    if (answer && nowMs() < staleAtMs) return answer
    const askedMs = nowMs()
    staleAtMs = Number.POSITIVE_INFINITY
    answer = ask().then(
      value => {
        staleAtMs = nowMs() + Math.max(keepMs, (nowMs() - askedMs) / SHARE)
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
