/** 10 MB of attachments in base64, 512 KB of HTML with JSON escapes, and the other fields. */
export const SEND_BODY_LIMIT = 16 * 1024 * 1024
export const BATCH_BODY_LIMIT = 32 * 1024 * 1024
/** 512 KB of HTML and of text, with JSON escapes. */
export const TEMPLATE_BODY_LIMIT = 4 * 1024 * 1024
/** 64 KB of variables with JSON escapes. */
export const VARIABLES_BODY_LIMIT = 256 * 1024
/** 5 MB of CSV with JSON escapes, such as one for each line break and quotation mark. */
export const IMPORT_BODY_LIMIT = 8 * 1024 * 1024
/** For all other routes. */
export const SMALL_BODY_LIMIT = 64 * 1024
/** SNS messages have at most 256 KB, which JSON escapes may double. Not above the CHECK constraint of provider_events.payload. */
export const PROVIDER_EVENT_LIMIT = 1_000_000
/** Characters of one part of a path, such as an id. */
export const MAX_PARAM_LENGTH = 200
