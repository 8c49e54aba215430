/** What a check found, and in the same sentence what mends it. */
export type Verdict = { state: 'ok' | 'warning' | 'failed'; detail: string }

export const ok = (detail: string): Verdict => ({ state: 'ok', detail })
export const warning = (detail: string): Verdict => ({ state: 'warning', detail })
export const failed = (detail: string): Verdict => ({ state: 'failed', detail })

/** With the name of its line, where that is not the one of the check. */
export type NamedVerdict = Verdict & { name: string }
