import { afterEach, expect, test, vi } from 'vitest'
import { formatFor } from './format.ts'

// Reads what the browser keeps, which there is not.
vi.mock('./preferences.ts', () => ({}))
afterEach(() => vi.unstubAllEnvs())

test.each(['America/Sao_Paulo', 'Asia/Tokyo'])('a day of UTC stays the same day in %s', zone => {
  vi.stubEnv('TZ', zone)
  const [en, pt] = [formatFor('en', 'local'), formatFor('pt', 'local')]
  expect([en.utcDate('2026-11-17'), pt.utcDate('2026-11-17')]).toEqual(['Nov 17, 2026', '17 de nov. de 2026'])
  expect([en.utcDay('2026-11-17'), pt.utcDay('2026-11-17')]).toEqual(['Nov 17', '17 de nov.'])
  expect(en.date('2026-11-17T23:00:00Z')).toBe(zone === 'Asia/Tokyo' ? 'Nov 18, 2026' : 'Nov 17, 2026')
})

test('relative times are rounded to the nearest unit', () => {
  const { relative } = formatFor('en', 'utc')
  const now = Date.parse('2026-11-17T10:00:00Z')
  const inSeconds = (seconds: number) => relative(now + seconds * 1000, now)
  const [hour, day] = [3_600, 86_400]
  expect([inSeconds(7 * day - 1), inSeconds(90 * day - 1), inSeconds(-3 * hour + 5)]).toEqual([
    'in 7 days',
    'in 3 mo.',
    '3 hr. ago',
  ])
  expect([inSeconds(3_599), inSeconds(-3_599), inSeconds(200 * day)]).toEqual(['in 1 hr.', '1 hr. ago', 'in 7 mo.'])
  expect([inSeconds(0), inSeconds(-42)]).toEqual(['now', '42 sec. ago'])
})

test('a time of another year has its year', () => {
  const { dateTime } = formatFor('en', 'utc')
  const now = Date.parse('2026-11-17T10:00:00Z')
  expect(dateTime('2026-12-31T23:59:00Z', now)).toBe('Dec 31, 23:59')
  expect(dateTime('2027-01-01T10:00:00Z', now)).toBe('Jan 01, 2027, 10:00')
})
