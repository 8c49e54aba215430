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
