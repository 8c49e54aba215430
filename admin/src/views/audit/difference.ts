type Values = Record<string, unknown> | null

export type FieldDifference = { field: string; before: string | null; after: string | null; changed: boolean }

/**
 * One line for each field of either side, with its value as `toText` says it; what changed comes first. null: the side does not have
 * it. A field that only the side before has is no change: some entries say what there was beside what they changed.
 */
export function differenceOf(
  before: Values,
  after: Values,
  toText: (value: unknown, field: string) => string,
): FieldDifference[] {
  const fields = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  const lines = fields.map(field => {
    const text = (side: Values) => (side && Object.hasOwn(side, field) ? toText(side[field], field) : null)
    const isSame = JSON.stringify(before?.[field]) === JSON.stringify(after?.[field])
    const changed = !isSame && (!after || Object.hasOwn(after, field))
    return { field, before: text(before), after: text(after), changed }
  })
  return [...lines.filter(line => line.changed), ...lines.filter(line => !line.changed)]
}
