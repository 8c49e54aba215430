import { z } from 'zod'
/** What a template and its variables may be. They are counted, not timed, so that a busy machine gives the same answer. */
export const TEMPLATE_LIMITS = {
  SUBJECT_CHARS: 500,
  CONTENT_BYTES: 512 * 1024,
  /** Tags and outputs of one part. */
  TAGS: 2_000,
  /** Characters of one tag or output: a longer one could compare large texts thousands of times. */
  TAG_CHARS: 1_000,
  /** Characters of all tags and outputs of one part. */
  ALL_TAGS_CHARS: 64 * 1024,
  NESTING: 20,
  VARIABLES_BYTES: 64 * 1024,
  VARIABLES_DEPTH: 10,
  /** Characters that the filters, the loops and the outputs of one part may work on. */
  WORK_CHARS: 1_000_000,
  /** The longest text that `contains` searches for: a search takes up to the product of both lengths. */
  SEARCHED_CHARS: 100,
  /** What one tag or output in a loop counts beside its characters. Rendering it takes about as long as copying a thousand. */
  TAG_WORK: 60,
  /** Up to this many characters times tags, every missing variable is named; above, the first: LiquidJS reads the source again for each. */
  ALL_ERRORS_WORK: 5_000_000,
  /** For all parts of one e-mail, in case that something is not counted. The counted limits are reached in less than a tenth of it. */
  RENDER_MS: 500,
} as const

/** Such as `welcome_user`. */
export const TEMPLATE_TYPE = /^[a-z0-9][a-z0-9_-]{0,63}$/

export const templateTypeSchema = z
  .string()
  .max(64)
  .regex(TEMPLATE_TYPE, 'must be lower-case letters, digits, _ and -')
  .meta({ examples: ['welcome_user'] })
