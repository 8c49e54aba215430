import { describe, expect, test } from 'vitest'
import { EMAIL_JOB_RETRY_CONFIG, RETRY_POLICIES } from '../settings/retry.ts'
import {
  BULLMQ_QUEUE_NAME,
  EMAIL_JOB_CONFIG,
  type EmailSendJobOptions,
  type EmailSendJobResult,
  emailSendJobDataSchema,
  validateEmailJobData,
} from './job.ts'

const job = {
  outboxId: '123e4567-e89b-12d3-a456-426614174000',
  companyId: '789e4567-e89b-12d3-a456-426614174999',
  requestId: 'req-abc123',
  to: 'cliente@example.com',
  subject: 'Seu boleto está disponível',
  htmlRef: '123e4567-e89b-12d3-a456-426614174000',
  recipient: {
    externalId: 'CUST-12345',
    cpfCnpjHash: 'a3c7b8d9'.repeat(8),
    nome: 'João da Silva',
    email: 'cliente@example.com',
  },
  attempt: 1,
  enqueuedAt: '2025-10-19T10:30:00.000Z',
}
const six = Array.from({ length: 6 }, (_, index) => `copy${index}@example.com`)

describe('the configuration', () => {
  test('has the published names and values', () => {
    expect(EMAIL_JOB_CONFIG).toEqual({
      QUEUE_NAME: 'email:send',
      DEFAULT_TTL: 86400000,
      DEFAULT_PRIORITY: 5,
      MAX_ATTEMPTS: 5,
      BACKOFF_DELAYS: [1, 5, 30, 120, 600],
      DLQ_TTL: 604800000,
    })
  })

  test('maps the queue to a name that BullMQ accepts', () => {
    expect(BULLMQ_QUEUE_NAME).toBe('email-send')
  })

  test('agrees with the retry configuration where both have the same setting', () => {
    expect(EMAIL_JOB_CONFIG.MAX_ATTEMPTS).toBe(EMAIL_JOB_RETRY_CONFIG.MAX_ATTEMPTS)
    expect(EMAIL_JOB_CONFIG.DLQ_TTL).toBe(EMAIL_JOB_RETRY_CONFIG.DLQ_TTL_MS)
    expect(EMAIL_JOB_CONFIG.BACKOFF_DELAYS).toEqual(RETRY_POLICIES.steps.delaysSeconds)
  })
})

describe('a job', () => {
  test('is valid in its documented form', () => {
    expect(emailSendJobDataSchema.parse(job)).toEqual(job)
    expect(validateEmailJobData(job)).toEqual(job)
  })

  test('may have every documented field', () => {
    const full = {
      ...job,
      cc: six.slice(0, 5),
      bcc: six.slice(0, 5),
      replyTo: 'atendimento@example.com',
      headers: { 'X-Campaign': 'boletos' },
      tags: ['a', 'b', 'c', 'd', 'e'],
      recipient: { ...job.recipient, recipientId: job.outboxId, razaoSocial: 'Silva & Cia' },
    }
    expect(validateEmailJobData(full)).toEqual(full)
  })

  test('loses an unhashed CPF', () => {
    const withCpf = { ...job, recipient: { ...job.recipient, cpfCnpj: '52998224725' } }
    expect(JSON.stringify(validateEmailJobData(withCpf))).not.toContain('52998224725')
  })

  test.each([
    ['outboxId', 'out_01HQABC123'],
    ['companyId', 'm2'],
    ['requestId', ''],
    ['to', 'nobody'],
    ['to', `${'a'.repeat(250)}@example.com`],
    ['cc', six],
    ['bcc', six],
    ['cc', ['nobody']],
    ['subject', ''],
    ['subject', 'x'.repeat(151)],
    ['subject', 'one\ntwo'],
    ['subject', 'one\r\nBcc: victim@example.com'],
    ['htmlRef', ''],
    ['replyTo', 'nobody'],
    ['headers', { 'X-A': 'one\r\nBcc: victim@example.com' }],
    ['tags', ['1', '2', '3', '4', '5', '6']],
    ['recipient', undefined],
    ['attempt', 0],
    ['attempt', 6],
    ['attempt', 1.5],
    ['enqueuedAt', '19/10/2025'],
  ])('is refused with %s = %j, and the error names the field', (field, value) => {
    expect(() => validateEmailJobData({ ...job, [field]: value })).toThrow(field)
  })

  test('is refused with a hash that is none', () => {
    const recipient = { ...job.recipient, cpfCnpjHash: '52998224725' }
    expect(() => validateEmailJobData({ ...job, recipient })).toThrow('64 hexadecimal digits')
  })
})

describe('the recipient', () => {
  const withRecipient = (recipient: object) => ({ ...job, recipient: { email: job.to, ...recipient } })

  test('must be the one the e-mail goes to', () => {
    const other = { ...job, recipient: { ...job.recipient, email: 'outro@example.com' } }
    expect(() => validateEmailJobData(other)).toThrow(new Error('recipient.email must match to'))
  })

  test('may be spelled in another case, and both spellings are kept', () => {
    const valid = validateEmailJobData({ ...job, to: 'Cliente@Example.com' })
    expect([valid.to, valid.recipient.email]).toEqual(['Cliente@Example.com', 'cliente@example.com'])
  })

  test('may have its international domain spelled either way', () => {
    const spelled = { ...job, to: 'ana@exämple.com', recipient: { ...job.recipient, email: 'ana@xn--exmple-cua.com' } }
    expect(validateEmailJobData(spelled).to).toBe('ana@exämple.com')
  })

  test('needs an identifier', () => {
    expect(() => validateEmailJobData(withRecipient({ nome: 'João' }))).toThrow(
      new Error('At least one recipient identifier required'),
    )
    expect(() => validateEmailJobData(withRecipient({ externalId: '' }))).toThrow('At least one recipient identifier')
  })

  test.each([{ recipientId: job.companyId }, { externalId: 'CUST-1' }, { cpfCnpjHash: 'ab'.repeat(32) }])(
    'is identified by any one of them: %j',
    identifier => {
      expect(validateEmailJobData(withRecipient(identifier)).recipient).toMatchObject(identifier)
    },
  )
})

test('the documented options and results have these types', () => {
  const options: EmailSendJobOptions = { jobId: job.outboxId, ttl: EMAIL_JOB_CONFIG.DEFAULT_TTL, priority: 5 }
  const results: EmailSendJobResult[] = [
    { status: 'SENT', sesMessageId: '0100018c', processedAt: job.enqueuedAt, durationMs: 12, attempt: 1 },
    { status: 'ALREADY_SENT', sesMessageId: '0100018c' },
  ]
  expect([options.jobId, ...results.map(({ status }) => status)]).toEqual([job.outboxId, 'SENT', 'ALREADY_SENT'])
})
