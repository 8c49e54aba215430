/** Search parameters of the routes, as `validateSearch` reads them: what is not valid is left out. */
type Reader<T> = (value: unknown) => T | undefined
type Search = Record<string, unknown>

/** Reads the parameters that a route has. */
export const searchOf =
  <T>(readers: { [Name in keyof T]-?: Reader<NonNullable<T[Name]>> }) =>
  (search: Search): T =>
    Object.fromEntries(
      (Object.entries(readers) as [string, Reader<unknown>][])
        .map(([name, read]) => [name, read(search[name])])
        .filter(([, value]) => value !== undefined),
    ) as T

/** A text of digits alone is a number in the URL. */
export const text: Reader<string> = value => {
  const written = typeof value === 'number' ? String(value) : value
  return typeof written === 'string' && /\S/.test(written) ? written : undefined
}

export const shortText =
  (maxLength: number): Reader<string> =>
  value =>
    text(value)?.slice(0, maxLength)

export const textLike =
  (pattern: RegExp): Reader<string> =>
  value =>
    typeof value === 'string' && pattern.test(value) ? value : undefined

export const oneOf =
  <const T extends string>(values: readonly T[]): Reader<T> =>
  value =>
    values.find(allowed => allowed === value)

export const flag: Reader<true> = value => value === true || undefined

/** The cursors of the pages before this one (`cursorPages`). */
export const cursors: Reader<string[]> = value =>
  Array.isArray(value) && value.length > 0 && value.every(cursor => typeof cursor === 'string') ? value : undefined
