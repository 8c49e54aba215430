import { createHash } from 'node:crypto'
import type { JobsOptions } from 'bullmq'
import { EMAIL_JOB_CONFIG, type EmailSendJobData } from '../../src/outbox/job.ts'
import { uuidv7 } from '../../src/platform/text/uuid.ts'
import type { BulkJob } from './bullmq.ts'
import type { SeedEmail } from './seed-tables.ts'

const COMPANIES = 100
export const SEED_SUBJECT = 'Seu boleto está disponível'

/** A whole payload, with the job options of the design that the gateway is compared with. */
export function seedJob({ outboxId, companyId, recipientId, to }: SeedEmail): BulkJob {
  const data: EmailSendJobData = {
    outboxId,
    companyId,
    requestId: `req-${outboxId}`,
    to,
    subject: SEED_SUBJECT,
    htmlRef: outboxId,
    tags: ['boleto', 'novembro'],
    recipient: {
      recipientId,
      externalId: `CUST-${outboxId.slice(-5)}`,
      cpfCnpjHash: createHash('sha256').update(outboxId).digest('hex'),
      nome: 'João da Silva',
      email: to,
    },
    attempt: 1,
    enqueuedAt: new Date().toISOString(),
  }
  return { name: EMAIL_JOB_CONFIG.QUEUE_NAME, data, opts: optionsOf(outboxId) }
}

/** `ttl` is no option of BullMQ, which keeps it all the same; the seed sends it. */
function optionsOf(jobId: string): JobsOptions {
  const options = {
    jobId,
    ttl: EMAIL_JOB_CONFIG.DEFAULT_TTL,
    priority: EMAIL_JOB_CONFIG.DEFAULT_PRIORITY,
    attempts: EMAIL_JOB_CONFIG.MAX_ATTEMPTS,
    backoff: { type: 'custom', delay: 1000 },
    removeOnComplete: true,
    removeOnFail: false,
  }
  return options
}

/** E-mails of a hundred companies, ids in the order of time. */
export function makeSeedEmails(count: number): SeedEmail[] {
  const companies = Array.from({ length: COMPANIES }, () => uuidv7())
  return Array.from({ length: count }, (_, n) => ({
    outboxId: uuidv7(),
    recipientId: uuidv7(),
    companyId: companies[n % COMPANIES]!,
    to: `cliente${n}@example.com`,
  }))
}
