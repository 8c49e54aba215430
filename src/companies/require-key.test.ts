import { expect, test, vi } from 'vitest'
import type { Queryable } from '../platform/postgres/query.ts'
import { KeyRegistry } from './require-key.ts'

test('the time of last use is written by one statement at a time, however slow the database is', async () => {
  vi.useFakeTimers()
  let running = 0
  let most = 0
  let release = () => {}
  const held = new Promise<void>(resolve => {
    release = resolve
  })
  const query = async () => {
    most = Math.max(most, ++running)
    await held
    running--
    return { rows: [] }
  }
  const keys = new KeyRegistry({ query } as unknown as Queryable, 5)
  for (let n = 0; n < 10; n++) {
    keys.used(`key-${n}`)
    await vi.advanceTimersByTimeAsync(10)
  }
  expect(most).toBe(1)
  release()
  await keys.close()
  vi.useRealTimers()
})
