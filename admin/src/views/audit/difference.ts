type Values = Record<string, unknown> | null

export type FieldDifference = { field: string; before: string | null; after: string | null; changed: boolean }

/** One line for each field of either side; what changed comes first. null: the side does not have it. */
export function differenceOf(before: Values, after: Values): FieldDifference[] {
  const fields = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  const lines = fields.map(field => {
    const [was, is] = [textOf(before, field), textOf(after, field)]
    return { field, before: was, after: is, changed: was !== is }
  })
  return [...lines.filter(line => line.changed), ...lines.filter(line => !line.changed)]
}

function textOf(values: Values, field: string): string | null {
  if (!values || !Object.hasOwn(values, field)) return null
  const value = values[field]
  if (typeof value === 'string') return value
  if (Array.isArray(value) && value.every(item => typeof item === 'string')) return value.join(', ')
  return JSON.stringify(value, null, 1)
}
