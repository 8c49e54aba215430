import { uuidv7 } from '../../src/platform/text/uuid.ts'

/** What a job of ours carries. */
export const jobData = (outboxId: string, change: object = {}) => ({
  outboxId,
  companyId: uuidv7(),
  requestId: 'r-1',
  htmlRef: outboxId,
  attempt: 1,
  enqueuedAt: new Date().toISOString(),
  ...change,
})
