import { expect, test } from 'vitest'
import { decideAfterWebhook, parseRetryAfter, WEBHOOK_RETRY_DELAYS_MS, webhookCooldownMs } from './schedule.ts'

const answered = (status: number | null, change = {}) => ({ status, error: null, retryAfterMs: null, ...change })
const never = () => 0

test('the schedule is 0, 5 s, 5 m, 30 m, 2 h, 5 h, 10 h, 10 h', () => {
  expect(WEBHOOK_RETRY_DELAYS_MS.map(ms => ms / 1000)).toEqual([5, 300, 1800, 7200, 18_000, 36_000, 36_000])
  const after = Array.from({ length: 8 }, (_, n) => decideAfterWebhook(answered(500), n + 1, never))
  expect(after.slice(0, 7).map(one => one.kind === 'retry' && one.delayMs)).toEqual([...WEBHOOK_RETRY_DELAYS_MS])
  expect(after[7]).toEqual({ kind: 'failed', pauseMs: 0 })
})

test('jitter only delays, by a tenth at most', () => {
  expect(decideAfterWebhook(answered(500), 1, () => 0.999)).toMatchObject({ delayMs: 5_500 })
})

test.each([200, 201, 202, 204, 299])('%i is a delivery', status => {
  expect(decideAfterWebhook(answered(status), 1, never)).toEqual({ kind: 'delivered' })
})

test.each([null, 100, 301, 302, 307, 308, 400, 401, 404, 500, 503])('%s is tried again', status => {
  expect(decideAfterWebhook(answered(status), 1, never).kind).toBe('retry')
})

test('a 200 whose body was cut off is tried again', () => {
  expect(decideAfterWebhook(answered(200, { error: 'TIMEOUT' }), 1, never).kind).toBe('retry')
})

test('410 ends the delivery and disables the endpoint', () => {
  expect(decideAfterWebhook(answered(410), 1, never)).toEqual({ kind: 'failed', gone: true, pauseMs: 0 })
})

test('Retry-After counts for 429 and 503, for an hour at most, and never shortens the wait', () => {
  const wish = (status: number, retryAfterMs: number) =>
    decideAfterWebhook(answered(status, { retryAfterMs }), 1, never)
  expect(wish(429, 60_000)).toEqual({ kind: 'retry', delayMs: 60_000, pauseMs: 60_000 })
  expect(wish(503, 1_000)).toEqual({ kind: 'retry', delayMs: 5_000, pauseMs: 1_000 })
  expect(wish(429, 9e9)).toMatchObject({ delayMs: 3_600_000, pauseMs: 3_600_000 })
  expect(wish(500, 60_000)).toMatchObject({ delayMs: 5_000, pauseMs: 0 })
})

test('Retry-After is read as seconds or as a date; anything else is ignored', () => {
  const now = new Date('2026-11-15T10:00:00Z')
  expect(parseRetryAfter('120', now)).toBe(120_000)
  expect(parseRetryAfter('Sun, 15 Nov 2026 10:01:00 GMT', now)).toBe(60_000)
  expect(parseRetryAfter('Sun, 15 Nov 2020 10:01:00 GMT', now)).toBe(0)
  for (const text of [undefined, '', 'soon', '-5', '1e9']) expect(parseRetryAfter(text, now)).toBeNull()
})

test('an endpoint that fails again and again is paused longer each time, a minute at most', () => {
  expect([1, 2, 3, 4, 5, 8, 9, 1000].map(webhookCooldownMs)).toEqual([0, 0, 1e3, 2e3, 4e3, 32e3, 60e3, 60e3])
})
