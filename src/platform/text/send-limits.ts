export const SEND_LIMITS = {
  /** Of the doors that take several. */
  TO: 50,
  CC: 5,
  BCC: 5,
  REPLY_TO: 5,
  SUBJECT_CHARS: 150,
  CONTENT_BYTES: 512 * 1024,
  TAGS: 5,
  TAG_CHARS: 64,
  ATTACHMENTS: 10,
  ATTACHMENT_BYTES: 10 * 1024 * 1024,
  SCHEDULE_MS: 30 * 24 * 60 * 60 * 1000,
  BATCH: 100,
} as const
