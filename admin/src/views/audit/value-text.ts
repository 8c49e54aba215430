export type ValueWords = {
  /** The name of a field inside of a value. */
  field: (name: string) => string
  /** Values that have words, by the name of their field. */
  values: Record<string, Record<string, string> | undefined>
  yes: string
  no: string
  number: (value: number) => string
  percent: (share: number) => string
  time: (at: string) => string
  /** Of the gateway's days, which begin and end in UTC. */
  day: (day: string) => string
}

const NOTHING = '–'
const DAY = /^\d{4}-\d\d-\d\d$/
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/

/** A value of an audit entry for people: words where there are some, times and numbers by language, one line for each field of an object. */
export function valueText(value: unknown, field: string, words: ValueWords): string {
  switch (typeof value) {
    case 'boolean':
      return value ? words.yes : words.no
    case 'number':
      return field.endsWith('Rate') ? words.percent(value) : words.number(value)
    case 'string':
      if (field === 'day' && DAY.test(value)) return words.day(value)
      return words.values[field]?.[value] ?? (INSTANT.test(value) ? words.time(value) : value || NOTHING)
    case 'object':
      return partsOf(value, field, words).join(Array.isArray(value) && !value.some(isObject) ? ', ' : '\n') || NOTHING
    default:
      return NOTHING
  }
}

const isObject = (value: unknown) => typeof value === 'object' && value !== null

function partsOf(value: object | null, field: string, words: ValueWords): string[] {
  if (value === null) return []
  if (Array.isArray(value)) return value.map(item => valueText(item, field, words).replaceAll('\n', ' · '))
  return Object.entries(value)
    .filter(([, inner]) => inner !== null && inner !== undefined)
    .map(([name, inner]) => `${words.field(name)}: ${valueText(inner, name, words).replaceAll('\n', ' · ')}`)
}
