/** Names that start with `given` or differ from it by a few letters, nearest first. */
export function nearest(given: string, known: readonly string[], max = 1): string[] {
  const word = given.toLowerCase()
  const allowed = Math.max(1, Math.floor(word.length / 3))
  return known
    .map(name => ({ name, distance: distanceTo(word, name.toLowerCase()) }))
    .filter(({ distance }) => distance <= allowed)
    .sort((a, b) => a.distance - b.distance || a.name.localeCompare(b.name))
    .slice(0, max)
    .map(({ name }) => name)
}

/** `; did you mean list?`, or an empty string. */
export function didYouMean(given: string, known: readonly string[], prefix = ''): string {
  const [name] = nearest(given, known)
  return name === undefined ? '' : `; did you mean ${prefix}${name}?`
}

function distanceTo(word: string, name: string): number {
  if (word.length >= 2 && name.startsWith(word)) return 1
  return editDistance(word, name)
}

/** Damerau–Levenshtein distance (optimal string alignment). */
function editDistance(from: string, to: string): number {
  const width = to.length + 1
  const cost = new Array<number>((from.length + 1) * width).fill(0)
  const at = (row: number, column: number) => cost[row * width + column]!
  for (let row = 0; row <= from.length; row++) {
    for (let column = 0; column <= to.length; column++) {
      if (row === 0 || column === 0) {
        cost[row * width + column] = row + column
        continue
      }
      const same = from[row - 1] === to[column - 1]
      let best = Math.min(at(row - 1, column) + 1, at(row, column - 1) + 1, at(row - 1, column - 1) + (same ? 0 : 1))
      const exchanged = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      if (exchanged) best = Math.min(best, at(row - 2, column - 2) + 1)
      cost[row * width + column] = best
    }
  }
  return at(from.length, to.length)
}
