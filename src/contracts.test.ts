import { expect, test } from 'vitest'
import * as contracts from './contracts.ts'

test('every published name is exported', () => {
  const names =
    'EMAIL_JOB_CONFIG EMAIL_JOB_RETRY_CONFIG EMAIL_JOB_FAIRNESS_CONFIG emailSendJobDataSchema validateEmailJobData ' +
    'calculateBackoffDelay isRetryableError RETRYABLE_ERRORS PERMANENT_ERRORS validateDLQEntry calculateRoundRobinPriority ' +
    'VALID_TRANSITIONS validateTransition calculateExpiration hashEmail maskEmail'
  expect(names.split(' ').filter(name => !(name in contracts))).toEqual([])
})

test('every published type is exported', () => {
  const named: {
    data?: contracts.EmailSendJobData
    options?: contracts.EmailSendJobOptions
    result?: contracts.EmailSendJobResult
    metrics?: contracts.TenantFairnessMetrics
  } = {}
  expect(named).toEqual({})
})
