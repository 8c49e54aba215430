/** 10 MB of attachments in base64, 512 KB of HTML in JSON escapes, and the rest. */
export const SEND_BODY_LIMIT = 16 * 1024 * 1024
export const BATCH_BODY_LIMIT = 32 * 1024 * 1024
/** Everything else. */
export const SMALL_BODY_LIMIT = 64 * 1024
/** SNS carries 256 KB, which JSON may write twice as long. No more than provider_events.payload takes. */
export const PROVIDER_EVENT_LIMIT = 1_000_000
