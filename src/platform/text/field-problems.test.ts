import { describe, expect, test } from 'vitest'
import { sendBodySchema } from '../../outbox/send-body.ts'
import { fieldProblems, REPORT_INPUT } from './refusal.ts'

const LEAST = { to: 'maria@example.com', subject: 'Hello', text: 'Hi' }

function problemsOf(change: object) {
  const parsed = sendBodySchema.safeParse({ ...LEAST, ...change }, REPORT_INPUT)
  return parsed.success
    ? []
    : fieldProblems(parsed.error.issues).map(({ path, code, message }) => `${path} ${code}: ${message}`)
}

describe('one wrong value has one problem', () => {
  test.each([
    [
      { to: ['maria@example.com'] },
      'to INVALID_TYPE: must be one address; for several e-mails use POST /v1/email/batch, for several recipients POST /emails',
    ],
    [{ subject: ' \u3000 ' }, 'subject INVALID_PAYLOAD: must not be blank'],
    [{ text: ' \r\n\t' }, 'text INVALID_PAYLOAD: must not be blank'],
    [{ html: '   ' }, 'html INVALID_PAYLOAD: must not be blank'],
    [{ text: '' }, 'text TOO_SMALL: must have at least 1 character, has 0'],
    [{ attachments: [{ filename: 'a.txt', content: '' }] }, 'attachments[0].content TOO_SMALL: the file is empty'],
    [{ to: 5 }, 'to INVALID_TYPE: expected string, received number'],
    [{ to: undefined }, 'to INVALID_TYPE: is required'],
    [{ cc: [['a@example.com']] }, 'cc[0] INVALID_TYPE: expected string, received array'],
    [{ cc: 'bounce@simulator.test' }, 'cc INVALID_TYPE: expected array, received string'],
    [{ bcc: { length: 21 } }, 'bcc INVALID_TYPE: expected array, received object'],
    [{ tags: 'welcome' }, 'tags INVALID_TYPE: expected array, received string'],
    [{ subject: ['a'.repeat(200)] }, 'subject INVALID_TYPE: expected string, received array'],
    [{ priority: '50' }, 'priority INVALID_TYPE: expected number, received string'],
    [{ subject: 'x'.repeat(163) }, 'subject TOO_LARGE: must have at most 150 characters, has 163'],
    [{ subject: '😀'.repeat(151) }, 'subject TOO_LARGE: must have at most 150 characters, has 151'],
    [{ scheduledAt: 'tomorrow' }, 'scheduledAt INVALID_FORMAT: must be a time such as 2026-11-15T10:00:00Z'],
    [{ scheduledAt: '0001-01-01T00:00:00Z' }, 'scheduledAt INVALID_PAYLOAD: must lie between the years 1970 and 9999'],
  ])('%j', (change, problem) => {
    expect(problemsOf(change)).toEqual([problem])
  })
})

test('two wrong fields have two', () => {
  expect(problemsOf({ cc: 'x', tags: 'welcome' })).toHaveLength(2)
})

test('a limit that is passed is also given as a number, with what it counts', () => {
  const limitsOf = (change: object) => {
    const { error } = sendBodySchema.safeParse({ ...LEAST, ...change }, REPORT_INPUT)
    return fieldProblems(error?.issues ?? []).map(({ path, code, limit, unit }) => ({ path, code, limit, unit }))
  }
  expect(limitsOf({ subject: 'x'.repeat(163) })).toEqual([
    { path: 'subject', code: 'TOO_LARGE', limit: 150, unit: 'characters' },
  ])
  expect(limitsOf({ tags: ['a', 'b', 'c', 'd', 'e', 'f'] })).toEqual([
    { path: 'tags', code: 'TOO_LARGE', limit: 5, unit: 'items' },
  ])
  expect(limitsOf({ html: 'x'.repeat(512 * 1024 + 1) })).toEqual([
    { path: 'html', code: 'TOO_LARGE', limit: 512 * 1024, unit: 'bytes' },
  ])
  const content = Buffer.alloc(10 * 1024 * 1024 + 1).toString('base64')
  expect(limitsOf({ attachments: [{ filename: 'a.bin', content }] })).toEqual([
    { path: 'attachments', code: 'TOO_LARGE', limit: 10 * 1024 * 1024, unit: 'bytes' },
  ])
  expect(limitsOf({ priority: 0 })).toEqual([{ path: 'priority', code: 'TOO_SMALL', limit: 1 }])
  expect(limitsOf({ scheduledAt: 'tomorrow' })).toEqual([{ path: 'scheduledAt', code: 'INVALID_FORMAT' }])
})
