import { expect, test } from 'vitest'
import { pausedAfterFailure } from './housekeeping.ts'

test('after a failure one round is left out once the database is back, however long it was away', async () => {
  let away = false
  const done: string[] = []
  const act = (what: string) => async () => {
    if (away) throw new Error('away')
    done.push(what)
    return { rows: [] }
  }
  // biome-ignore lint/suspicious/noExplicitAny: of the database only that it answers is needed
  const round = pausedAfterFailure({ query: act('looked') } as any, act('returned leases'))
  await round()
  away = true
  for (let failed = 0; failed < 3; failed++) await expect(round()).rejects.toThrow('away')
  away = false
  await round()
  await round()
  await round()
  expect(done).toEqual(['returned leases', 'looked', 'returned leases', 'returned leases'])
})
