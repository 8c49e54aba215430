import { expect, test } from 'vitest'
import { retryReason } from './retry-reason.ts'

test.each([
  [{ code: 'SES_THROTTLED', category: 'QUOTA_ERROR' }, 'throttled'],
  [{ code: 'SMTP_RATE_LIMITED', category: 'QUOTA_ERROR' }, 'failed'],
  [{ code: 'NETWORK_ERROR', category: 'TIMEOUT' }, 'unconnected'],
  [{ code: 'SES_DOWN', category: null }, 'failed'],
  [null, null],
] as const)('%o', (lastError, reason) => expect(retryReason(lastError)).toBe(reason))
