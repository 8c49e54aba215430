/** What a template and its variables may be. Every limit but the time is counted, so that the same input has the same result. */
export const TEMPLATE_LIMITS = {
  TYPE_CHARS: 64,
  SUBJECT_CHARS: 500,
  CONTENT_BYTES: 512 * 1024,
  /** Tags and outputs of one part. */
  TAGS: 2_000,
  /** Characters of one tag or output: a longer one could compare large texts thousands of times. */
  TAG_CHARS: 1_000,
  NESTING: 20,
  VARIABLES_BYTES: 64 * 1024,
  VARIABLES_DEPTH: 10,
  /** Characters that the filters, the loops and the outputs of one part may work on. */
  WORK_CHARS: 1_000_000,
  /** The longest text that `contains` searches for: a search takes up to the product of both lengths. */
  SEARCHED_CHARS: 100,
  /** For all parts of one e-mail. */
  RENDER_MS: 40,
} as const

/** Such as `welcome_user`. */
export const TEMPLATE_TYPE = /^[a-z0-9][a-z0-9_-]{0,63}$/
/** Such as `pt-BR` or `en`. */
export const TEMPLATE_LOCALE = /^[a-z]{2,3}(-[A-Z]{2})?$/
export const DEFAULT_LOCALE = 'pt-BR'
