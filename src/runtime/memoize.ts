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
