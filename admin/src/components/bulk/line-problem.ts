/** What the gateway finds wrong with a line of an import begins like this; the texts are in `bulk.problems`. */
const BEGINNINGS = {
  address: 'The e-mail address ',
  reason: 'has a reason ',
  hash: 'has an email_hash ',
  expires: 'has an expires_at ',
  company: 'names a company ',
  quote: 'has a misplaced quotation mark',
  long: 'is longer than ',
} as const

export type LineProblem = keyof typeof BEGINNINGS

/** Undefined: shown in the gateway's own words. */
export const lineProblemOf = (problem: string): LineProblem | undefined =>
  (Object.keys(BEGINNINGS) as LineProblem[]).find(kind => problem.startsWith(BEGINNINGS[kind]))
