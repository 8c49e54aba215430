type Value = string | number | boolean | null | Value[] | { [name: string]: Value }

/** Sample values for the variables that a template uses: `user.name` becomes { user: { name: 'name' } }. What is there already stays. */
export function sampleVariables(names: readonly string[], existing: Record<string, Value> = {}): Record<string, Value> {
  const sample = structuredClone(existing)
  for (const name of names) {
    const path = name.replaceAll(/\[(\d+)\]/g, '.$1').split('.')
    let place: { [name: string]: Value } = sample
    for (const [index, part] of path.entries()) {
      const isLast = index === path.length - 1
      const current = Object.hasOwn(place, part) ? place[part] : undefined
      if (isLast) {
        if (current === undefined) place[part] = part
      } else if (typeof current === 'object' && current !== null && !Array.isArray(current)) place = current
      else if (current === undefined) {
        const inner: { [name: string]: Value } = {}
        place[part] = inner
        place = inner
      } else break
    }
  }
  return sample
}

/** What was typed, or null when it is not a JSON object. */
export function parseVariables(text: string): Record<string, Value> | null {
  try {
    const value: unknown = JSON.parse(text.trim() === '' ? '{}' : text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, Value>)
      : null
  } catch {
    return null
  }
}
