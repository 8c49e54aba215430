/** Who makes a change, and why. The reason is stored as given: the caller masks what a person typed. */
export type Author = { performedBy: string; reason?: string | null }

/** The fields that differ, as they were and as they are; null: none. */
export function changedFields<Row extends object>(
  before: Row,
  after: Row,
): { before: Partial<Row>; after: Partial<Row> } | null {
  const differs = (name: keyof Row) => JSON.stringify(before[name]) !== JSON.stringify(after[name])
  const names = (Object.keys(after) as (keyof Row)[]).filter(differs)
  if (names.length === 0) return null
  const only = (row: Row) => Object.fromEntries(names.map(name => [name, row[name]])) as Partial<Row>
  return { before: only(before), after: only(after) }
}
