import { expect, test } from 'vitest'
import { readRateHeaders } from './answers.ts'

const NOW = Date.parse('2026-01-01T00:00:00Z')
const read = (headers: Record<string, string>) => readRateHeaders(name => headers[name], NOW)

test.each([
  [{}, { retryAfterMs: null, limit: null }],
  [{ 'retry-after': '2' }, { retryAfterMs: 2000, limit: null }],
  [{ 'retry-after': '0' }, { retryAfterMs: 0, limit: null }],
  [{ 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT' }, { retryAfterMs: 30_000, limit: null }],
  [{ 'retry-after': 'Wed, 31 Dec 2025 00:00:30 GMT' }, { retryAfterMs: 0, limit: null }],
  [{ 'retry-after': 'soon' }, { retryAfterMs: null, limit: null }],
  [{ 'retry-after': '-5' }, { retryAfterMs: null, limit: null }],
  [{ 'retry-after': '1e99' }, { retryAfterMs: null, limit: null }],
  [{ 'ratelimit-limit': '2' }, { retryAfterMs: null, limit: 2 }],
  [
    { 'ratelimit-limit': '2', 'ratelimit-remaining': '0', 'ratelimit-reset': '1' },
    { retryAfterMs: 1000, limit: 2 },
  ],
  [
    { 'ratelimit-remaining': '1', 'ratelimit-reset': '1' },
    { retryAfterMs: null, limit: null },
  ],
  [
    { 'ratelimit-limit': '120', 'ratelimit-policy': '120;w=60' },
    { retryAfterMs: null, limit: 2 },
  ],
  [{ 'ratelimit-policy': '"default";q=10;w=5' }, { retryAfterMs: null, limit: 2 }],
  [{ 'ratelimit-limit': '0' }, { retryAfterMs: null, limit: null }],
  [{ 'ratelimit-limit': 'many' }, { retryAfterMs: null, limit: null }],
])('%j', (headers, expected) => {
  expect(read(headers as Record<string, string>)).toEqual(expected)
})
