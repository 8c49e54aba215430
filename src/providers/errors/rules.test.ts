import { expect, test } from 'vitest'
import { RESEND_ERRORS } from '../resend/errors.ts'
import { SES_ERRORS } from '../ses/errors.ts'
import { SMTP_ENHANCED_STATUSES, SMTP_REPLIES } from '../smtp/errors.ts'
import { HTTP_STATUS_ERRORS } from './classify.ts'
import { NETWORK_ERRORS } from './network.ts'
import { errorRule } from './rules.ts'

const named = [...SES_ERRORS, ...RESEND_ERRORS, ...NETWORK_ERRORS, ...SMTP_REPLIES, ...SMTP_ENHANCED_STATUSES]

test('the tables name nothing twice', () => {
  const reported = named.map(([name]) => name)
  expect(reported.filter((name, index) => reported.indexOf(name) !== index)).toEqual([])
})

test('the tables give one code one category and one answer about retrying', () => {
  const meaning = new Map<string, string>()
  for (const [, code, category, behaviour] of [...named, ...HTTP_STATUS_ERRORS]) {
    const summary = `${category}, retryable: ${errorRule(code, category, behaviour).retryable}`
    expect(meaning.get(code) ?? summary, code).toBe(summary)
    meaning.set(code, summary)
  }
})

test('a permanent error is never retried, and a transient one always', () => {
  for (const [reported, code, category, behaviour] of named) {
    const { retryable } = errorRule(code, category, behaviour)
    if (category === 'PERMANENT_ERROR' || category === 'VALIDATION_ERROR') expect(retryable, reported).toBe(false)
    if (category === 'TRANSIENT_ERROR' || category === 'TIMEOUT_ERROR' || category === 'QUOTA_ERROR') {
      expect(retryable, reported).toBe(true)
    }
  }
})

test('a rule that parks or slows down the provider is never ambiguous', () => {
  for (const [reported, code, category, behaviour] of named) {
    const { effect, ambiguous } = errorRule(code, category, behaviour)
    expect(effect && ambiguous, reported).toBeFalsy()
  }
})
