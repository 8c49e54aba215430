/** What a pure function has answered, for the keys asked last. */
export function memoize<Key, Answer>(most: number, work: (key: Key) => Answer): (key: Key) => Answer {
  const known = new Map<Key, Answer>()
  return key => {
    const before = known.get(key)
    if (before !== undefined) return before
    const answer = work(key)
    // Those of the map come in the order in which they were asked for first: the oldest goes.
    if (known.size >= most) known.delete(known.keys().next().value!)
    known.set(key, answer)
    return answer
  }
}
