import { expect, test } from 'vitest'
import { mayDownload, signDownload } from './attachments.ts'

const NOW = new Date('2026-11-15T10:00:00Z')
const soon = Math.floor(NOW.getTime() / 1000) + 60
const file = { outboxId: '01990000-0000-7000-8000-000000000002', ordinal: 0, expiresAtSeconds: soon }
const signature = signDownload(file, 'pepper')

test('a link is for one file, until it expires', () => {
  expect(mayDownload(file, signature, 'pepper', NOW)).toBe(true)
  expect(mayDownload(file, signature, 'pepper', new Date(soon * 1000))).toBe(false)
  expect(mayDownload({ ...file, ordinal: 1 }, signature, 'pepper', NOW)).toBe(false)
  expect(mayDownload({ ...file, outboxId: `${file.outboxId} ` }, signature, 'pepper', NOW)).toBe(false)
  expect(mayDownload({ ...file, expiresAtSeconds: soon + 1 }, signature, 'pepper', NOW)).toBe(false)
})

test.each(['', 'x', signature.slice(0, -2), `${signature}AAAA`])('the signature "%s" opens nothing', wrong => {
  expect(mayDownload(file, wrong, 'pepper', NOW)).toBe(false)
})

test('another gateway signs differently', () => {
  expect(mayDownload(file, signDownload(file, 'other'), 'pepper', NOW)).toBe(false)
})
