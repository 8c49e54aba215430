/**
 * A batch of e-mails in one statement without a join: $1 are their ids in order, $2 and $3 the lowest and the highest of them (which
 * lets the executor drop all other partitions), and everything else is an array in the same order. A join with the batch was a
 * nested loop in every plan that could be had, a third of what the statement cost.
 */
export const ofBatch = (table: string) =>
  `${table}.outbox_id = any($1::uuid[]) and ${table}.outbox_id between $2 and $3`

/** Which of the ids a row has, found by halving. */
export const indexInBatch = (row: string) => `width_bucket(${row}.outbox_id, $1::uuid[])`

/** The places of what was written; null: all of it. */
export type Written = { places: number[] | null }

/** Of `written`, which has a column `outbox_id`. The places are looked for only where something is missing. */
export const WRITTEN = (written: string) =>
  `select case when count(*) < cardinality($1::uuid[]) then (select coalesce(json_agg(${indexInBatch('w')}), '[]') from ${written} w) end as places
   from ${written}`

/** Items of one e-mail are written one after the other: it has one place in a batch. Answers which were written. */
export async function writeInBatches<Item extends { outboxId: string }>(
  items: Item[],
  write: (sorted: Item[], ids: [string[], string, string]) => Promise<Written>,
): Promise<boolean[]> {
  const answers = new Array<boolean>(items.length).fill(false)
  let left = items.map((_, index) => index).sort((a, b) => compare(items[a]!.outboxId, items[b]!.outboxId))
  while (left.length > 0) {
    const now = left.filter((index, nth) => items[index]!.outboxId !== items[left[nth - 1]!]?.outboxId)
    const sorted = now.map(index => items[index]!)
    const ids = sorted.map(item => item.outboxId)
    const { places } = await write(sorted, [ids, ids[0]!, ids.at(-1)!])
    if (places) for (const place of places) answers[now[place - 1]!] = true
    else for (const index of now) answers[index] = true
    left = now.length === left.length ? [] : left.filter(index => !now.includes(index))
  }
  return answers
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** What many have in common is sent once, and for each of them a number. */
export function distinct<Item>(
  items: Item[],
  isSame: (one: Item, other: Item) => boolean,
): { kinds: Item[]; numbers: number[] } {
  const kinds: Item[] = []
  let number = 0
  const numbers = items.map(item => {
    // Nearly always that of its neighbour.
    if (number === 0 || !isSame(kinds[number - 1]!, item)) number = kinds.findIndex(kind => isSame(kind, item)) + 1
    if (number === 0) number = kinds.push(item)
    return number
  })
  return { kinds, numbers }
}
