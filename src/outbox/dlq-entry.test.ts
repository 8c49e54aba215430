import { expect, test } from 'vitest'
import { validateDLQEntry } from './dlq-entry.ts'

const entry = {
  jobId: '123e4567-e89b-12d3-a456-426614174000',
  outboxId: '123e4567-e89b-12d3-a456-426614174000',
  companyId: '789e4567-e89b-12d3-a456-426614174999',
  originalData: { subject: 'Seu boleto está disponível' },
  failedAttempts: 5,
  lastFailureReason: 'SMTP 550: Mailbox not found',
  lastFailureCode: '550',
  lastFailureTimestamp: '2025-10-19T10:30:00.000Z',
  enqueuedAt: '2025-10-19T10:00:00.000Z',
  movedToDLQAt: '2025-10-19T10:30:01.000Z',
  ttl: 604800000,
}

const without = (field: keyof typeof entry) =>
  Object.fromEntries(Object.entries(entry).filter(([key]) => key !== field))

test('a complete entry is returned unchanged', () => {
  expect(validateDLQEntry(entry)).toEqual(entry)
})

test('the code of the failure and the ttl may be missing; the ttl is then seven days', () => {
  expect(validateDLQEntry(without('lastFailureCode'))).not.toHaveProperty('lastFailureCode')
  expect(validateDLQEntry(without('ttl')).ttl).toBe(7 * 24 * 60 * 60 * 1000)
})

test('the history of the attempts is kept', () => {
  const retryHistory = [{ attempt: 1, timestamp: '2025-01-23T10:00:00Z', error: 'Throttling' }]
  expect(validateDLQEntry({ ...entry, retryHistory }).retryHistory).toEqual(retryHistory)
})

test('an entry without a reason is refused', () => {
  expect(() => validateDLQEntry(without('lastFailureReason'))).toThrow('lastFailureReason')
})

test.each(['', '   ', '\n\t'])('a blank reason is refused: %j', lastFailureReason => {
  expect(() => validateDLQEntry({ ...entry, lastFailureReason })).toThrow('lastFailureReason is required')
})

test('a permanent error may end on its first attempt, but not before', () => {
  expect(validateDLQEntry({ ...entry, failedAttempts: 1 }).failedAttempts).toBe(1)
  expect(() => validateDLQEntry({ ...entry, failedAttempts: 0 })).toThrow('failedAttempts')
})

test.each([
  ['jobId', 'out_01HQABC123'],
  ['originalData', 'text'],
  ['failedAttempts', 1.5],
  ['enqueuedAt', 'yesterday'],
  ['movedToDLQAt', undefined],
])('a wrong %s is refused', (field, value) => {
  expect(() => validateDLQEntry({ ...entry, [field]: value })).toThrow(field)
})
