import { expect, test } from 'vitest'
import { readScheduledAt } from './send.ts'

const NOW = new Date('2026-11-30T22:15:10.500Z')

test.each([
  ['2026-12-01T00:00:00.000Z', '2026-12-01T00:00:00.000Z'],
  ['2026-12-01T02:00:00+02:00', '2026-12-01T00:00:00.000Z'],
  ['in 30 seconds', '2026-11-30T22:15:40.500Z'],
  ['in 1 min', '2026-11-30T22:16:10.500Z'],
  ['in 5 mins', '2026-11-30T22:20:10.500Z'],
  ['in 10 minutes', '2026-11-30T22:25:10.500Z'],
  ['In 1 Hour', '2026-11-30T23:15:10.500Z'],
  ['  in   an hour ', '2026-11-30T23:15:10.500Z'],
  ['in 2 days', '2026-12-02T22:15:10.500Z'],
  ['in a week', '2026-12-07T22:15:10.500Z'],
  ['tomorrow', '2026-12-01T22:15:10.500Z'],
  ['tomorrow at 9am', '2026-12-01T09:00:00.000Z'],
  ['tomorrow at 12am', '2026-12-01T00:00:00.000Z'],
  ['tomorrow at 12:30pm', '2026-12-01T12:30:00.000Z'],
  ['today at 23:45', '2026-11-30T23:45:00.000Z'],
])('"%s" is %s', (text, expected) => {
  expect(readScheduledAt(text, NOW)).toBe(expected)
})

test.each([
  '',
  'soon',
  'in one hour',
  'in -1 hour',
  'in 1.5 hours',
  'in 1 month',
  'in 9999999999 days',
  'in 999999999 weeks',
  'tomorrow at 25:00',
  'tomorrow at 13pm',
  'tomorrow at 0am',
  'tomorrow at 9:75am',
  'Friday at 3pm ET',
  '2026-12-01',
  '2026-12-01T00:00:00',
  `in 1 hour${' '.repeat(200)}`,
])('"%s" is refused', text => {
  expect(readScheduledAt(text, NOW)).toBeNull()
})
