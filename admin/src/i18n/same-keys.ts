/** The same keys as the English texts, so that a text that is missing in Portuguese does not compile. */
export type SameKeys<T> = { [K in keyof T]: T[K] extends string ? string : SameKeys<T[K]> }
