import fc from 'fast-check'
import { expect, test } from 'vitest'
import { validateEmailJobData } from '../contracts/job.ts'
import { sendBodySchema } from '../contracts/send-body.ts'
import { uuidv7 } from '../contracts/uuid.ts'
import type { EmailToSend } from '../db/outbox/load.ts'
import { HtmlChecker } from './html-check.ts'
import { contractJobOf, isPlain, validateEmail } from './validate-email.ts'

const PLAIN: EmailToSend = {
  companySender: null,
  outboxId: uuidv7(),
  companyId: uuidv7(),
  requestId: 'request',
  externalId: null,
  recipientId: null,
  test: false,
  from: 'sender@example.com',
  subject: 'Your invoice',
  templateType: null,
  tags: [],
  attempts: 0,
  maxAttempts: 5,
  retryPolicy: 'steps',
  onUnknown: 'resend',
  expired: false,
  unresolvedAttempt: null,
  html: '<p>Hi</p>',
  htmlProof: null,
  text: null,
  variables: null,
  replyTo: null,
  headers: null,
  recipients: [{ ordinal: 0, kind: 'to', address: 'maria@example.com', name: null, suppressed: false }],
  recipientRecord: null,
  files: 0,
  fileBytes: 0,
  traceparent: null,
}

/** Each field as it should be, or as it should not: what a row can hold whatever the accept step let in. */
const CHANGES = fc.record({
  requestId: fc.constantFrom('', 'a'),
  subject: fc.oneof(
    fc.constantFrom(null, '', 'a\nb', 'a\r', '\n', 'x'.repeat(150), 'x'.repeat(151)),
    fc.string({ unit: 'binary', maxLength: 160 }),
  ),
  tags: fc.array(fc.string(), { maxLength: 7 }),
  attempts: fc.nat(6),
  maxAttempts: fc.integer({ min: 1, max: 20 }),
  headers: fc.constantFrom(null, { 'X-Good': 'yes' }, { 'X-Bad': 'a\r\nb' }),
  replyTo: fc.constantFrom(null, ['Ana <ana@example.com>'], ['ana'], []),
  recipientId: fc.constantFrom(null, uuidv7()),
  recipientRecord: fc.constantFrom(null, {
    externalId: null,
    cpfCnpjHash: 'no hash',
    email: null,
    nome: null,
    razaoSocial: null,
  }),
  recipients: fc.array(
    fc.record({
      ordinal: fc.nat(12),
      kind: fc.constantFrom('to' as const, 'cc' as const, 'bcc' as const),
      address: fc.oneof(
        fc.constantFrom(
          'a@b.co',
          'A.b@Example.COM',
          `${'l'.repeat(64)}@${'d'.repeat(63)}.${'d'.repeat(63)}.${'d'.repeat(62)}`,
        ),
        fc.emailAddress(),
        fc.string({ maxLength: 12 }),
      ),
      name: fc.constant(null),
      suppressed: fc.boolean(),
    }),
    { maxLength: 2 },
  ),
})
const FEW = fc.tuple(CHANGES, fc.shuffledSubarray(Object.keys(PLAIN) as (keyof EmailToSend)[], { maxLength: 12 }))

test('what needs no look at the schema is what the schema would accept', () => {
  let plain = 0
  fc.assert(
    fc.property(FEW, ([change, changed]) => {
      const picked = Object.entries(change).filter(([field]) => changed.includes(field as keyof EmailToSend))
      const email: EmailToSend = { ...PLAIN, ...Object.fromEntries(picked) }
      if (!isPlain(email)) return
      plain++
      expect(() => validateEmailJobData(contractJobOf(email))).not.toThrow()
    }),
    { numRuns: 3_000 },
  )
  expect(plain).toBeGreaterThan(300)
})

test('the usual e-mail needs none', () => {
  expect(isPlain(PLAIN)).toBe(true)
})

test('a subject that is accepted is sent, however many emoji it has', async () => {
  const checker = new HtmlChecker('pepper')
  const letters = fc.array(fc.constantFrom('a', 'é', '😀', '𝒳'), { minLength: 70, maxLength: 155 })
  const emoji = letters.map(parts => parts.join(''))
  await fc.assert(
    fc.asyncProperty(emoji, fc.boolean(), async (subject, tagged) => {
      const body = sendBodySchema.safeParse({ to: 'maria@example.com', subject, text: 'Hi' })
      const headers = tagged ? { 'X-Order': '1' } : null
      const email: EmailToSend = { ...PLAIN, subject, html: null, text: 'Hi', headers }
      const invalid = await validateEmail(email, PLAIN.companyId, checker)
      expect(invalid === null).toBe(body.success)
    }),
  )
})
