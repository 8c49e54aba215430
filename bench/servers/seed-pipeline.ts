import { randomUUID } from 'node:crypto'
import type { Job } from 'bullmq'
import pg from 'pg'
import { type EmailSendJobData, type EmailSendJobResult, validateEmailJobData } from '../../src/outbox/job.ts'
import { BODY } from '../accept.ts'
import { connectRedis, drain, fillQueue, openQueue, startWorker } from '../support/bullmq.ts'
import { answer, orders } from '../support/reference.ts'
import { makeSeedEmails, SEED_SUBJECT, seedJob } from '../support/seed-job.ts'
import * as sql from '../support/seed-statements.ts'
import { fillSeedTables, makeSeedTables } from '../support/seed-tables.ts'

/**
 * Reference: the pipeline of seeds 000 and 001, one statement per action, written with care: prepared, a state and its event
 * in one transaction, whose statements are sent without waiting for each other.
 *
 * Tried in four interleaved rounds: jobs a second, and CPU per job of this process + Postgres. Transactions sent statement by
 * statement 680 (0.99 + 1.23 ms); sent in one go, as here, 840 (0.86 + 1.08 ms); one data-modifying WITH per state 970
 * (0.75 + 0.90 ms), which is a design of its own and no longer the seeds' sketch. Without transactions (another run) it was
 * between the first two. 40 connections instead of 20 cost Postgres a fifth more per job; 12 were no faster.
 * Where the time goes: sixteen statements and four commits per job. More than half of this process is the system calls that
 * write to the sockets; BullMQ and ioredis are 6 %.
 */
const POOL_SIZE = 20

const { redisUrl, jobs, warmUpJobs } = orders()
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: POOL_SIZE, pipeline: true })
const queue = openQueue(connectRedis(redisUrl))

async function processEmailJob(job: Job<EmailSendJobData>): Promise<EmailSendJobResult> {
  const startedMs = performance.now()
  const log = await one(sql.findLog(job.data.outboxId))
  if (log?.status === 'SENT') return { status: 'ALREADY_SENT', sesMessageId: log.ses_message_id }
  const attempt = job.attemptsMade + 1
  await receive(job.data, attempt)
  const data = await validate(job.data, attempt)
  const sesMessageId = await send(data, attempt)
  const durationMs = Math.round(performance.now() - startedMs)
  await settle(data.outboxId, { sesMessageId, durationMs, attempt })
  return { status: 'SENT', sesMessageId, processedAt: new Date().toISOString(), durationMs, attempt }
}

function receive(data: EmailSendJobData, attempt: number): Promise<void> {
  const event = sql.putEvent(data.outboxId, 'RECEIVED', { attempt, requestId: data.requestId })
  return writeBatchOrSingly(sql.raiseAttempts(data.outboxId), sql.putLog(data, attempt), event)
}

/** INTEGRITY, OUTBOX, RECIPIENT, TEMPLATE. */
async function validate(received: EmailSendJobData, attempt: number): Promise<EmailSendJobData> {
  const data = validateEmailJobData(received)
  const outbox = await one(sql.findOutbox(data.outboxId))
  if (outbox?.company_id !== data.companyId) throw new Error('OUTBOX_NOT_FOUND')
  const recipient = await one(sql.findRecipient(data.recipient.recipientId!))
  if (recipient?.company_id !== data.companyId || recipient.email !== data.to) throw new Error('RECIPIENT_NOT_FOUND')
  if (!isSafeTemplate(outbox.html, outbox.subject)) throw new Error('INVALID_TEMPLATE')
  const validations = ['INTEGRITY', 'OUTBOX', 'RECIPIENT', 'TEMPLATE']
  await one(sql.putEvent(data.outboxId, 'VALIDATED', { attempt, validations }))
  return data
}

function isSafeTemplate(html: string | null, subject: string): boolean {
  if (!html || Buffer.byteLength(html) > 512 * 1024 || subject.length > 150) return false
  return !/<script\b|javascript:|\son\w+\s*=/i.test(html)
}

/** SENT_ATTEMPT, then a provider that costs nothing. */
async function send(data: EmailSendJobData, attempt: number): Promise<string> {
  await one(sql.putEvent(data.outboxId, 'SENT_ATTEMPT', { attempt, provider: 'null' }))
  const { html } = await one(sql.findHtml(data.htmlRef))
  return nullProvider({ to: data.to, subject: data.subject, html })
}

async function nullProvider(_message: { to: string; subject: string; html: string }): Promise<string> {
  return randomUUID()
}

function settle(outboxId: string, sent: { sesMessageId: string; durationMs: number; attempt: number }): Promise<void> {
  const log = sql.markLogSent(outboxId, sent.sesMessageId, sent.durationMs)
  return writeBatchOrSingly(sql.markOutboxSent(outboxId), log, sql.putEvent(outboxId, 'SENT', sent))
}

async function one(statement: sql.Statement) {
  return (await pool.query(statement)).rows[0]
}

/** A state and its event in one transaction, sent in one go: when one fails, the commit behind it rolls back. */
async function writeBatchOrSingly(...statements: sql.Statement[]): Promise<void> {
  const client = await pool.connect()
  try {
    await Promise.all([client.query('begin'), ...statements.map(one => client.query(one)), client.query('commit')])
  } finally {
    client.release()
  }
}

await makeSeedTables(pool)
const worker = await startWorker(redisUrl, processEmailJob)

const measure = (count: number) =>
  drain(queue, worker, count, async () => {
    const emails = makeSeedEmails(count)
    await fillSeedTables(pool, emails, { subject: SEED_SUBJECT, html: BODY.html })
    await fillQueue(queue, count, place => seedJob(emails[place]!))
  })

await measure(warmUpJobs)
answer({ jobs, ms: await measure(jobs) })
process.exit(0)
