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

/** Caches the answers of a pure function for at most so many keys; the oldest is dropped. */
export function memoize<Key, Answer>(most: number, work: (key: Key) => Answer): (key: Key) => Answer {
  const known = new Map<Key, Answer>()
  return key => {
    const before = known.get(key)
    if (before !== undefined) return before
    const answer = work(key)
    // A Map keeps the order of insertion: the first key is the oldest.
    if (known.size >= most) known.delete(known.keys().next().value!)
    known.set(key, answer)
    return answer
  }
}
