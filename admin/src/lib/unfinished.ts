/** The first bucket that is still being counted; the number of buckets when all of them are complete. */
export function firstUnfinished(points: { at: string }[], bucketSeconds: number, countedUntil: string | Date): number {
  const until = new Date(countedUntil).getTime()
  const found = points.findIndex(({ at }) => Date.parse(at) + bucketSeconds * 1_000 > until)
  return found === -1 ? points.length : found
}
