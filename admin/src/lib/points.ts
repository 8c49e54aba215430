/** Round values from 0 to the first one that is not below `max`: ticks of an axis of counts. */
export function ticksUpTo(max: number, atMost = 5): number[] {
  const rough = Math.max(1, max) / (atMost - 1)
  const magnitude = 10 ** Math.floor(Math.log10(rough))
  const step = Math.max(1, [1, 2, 5, 10].map(factor => factor * magnitude).find(size => size >= rough)!)
  const count = Math.max(1, Math.ceil(max / step))
  return Array.from({ length: count + 1 }, (_, index) => index * step)
}

/** Indexes of the points that get a label on the time axis: evenly apart, at least `minGap` of the width between two. */
export function labelledPoints(points: number, width: number, minGap: number): number[] {
  const every = Math.max(1, Math.ceil((points * minGap) / Math.max(1, width)))
  return Array.from({ length: points }, (_, index) => index).filter(index => index % every === 0)
}

/** The first bucket that is still being counted; the number of buckets when all of them are complete. */
export function firstUnfinished(points: { at: string }[], bucketSeconds: number, countedUntil: string | Date): number {
  const until = new Date(countedUntil).getTime()
  const index = points.findIndex(({ at }) => Date.parse(at) + bucketSeconds * 1_000 > until)
  return index === -1 ? points.length : index
}
