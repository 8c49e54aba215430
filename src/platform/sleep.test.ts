import { expect, test } from 'vitest'
import { WakeableSleep } from './sleep.ts'

test('a sleep ends by itself', async () => {
  await new WakeableSleep().sleep(1)
})

test('a wake-up ends a sleep', async () => {
  const sleep = new WakeableSleep()
  const asleep = sleep.sleep(60_000)
  sleep.wake()
  await asleep
  expect(sleep.woken).toBe(true)
})

test('a wake-up that comes while nobody sleeps is kept for the next sleep, until it is cleared', async () => {
  const sleep = new WakeableSleep()
  sleep.wake()
  await sleep.sleep(60_000)
  sleep.clear()
  expect(sleep.woken).toBe(false)
  await sleep.sleep(1)
})

test('an interruption ends the sleep under way, and is forgotten when nobody sleeps', async () => {
  const sleep = new WakeableSleep()
  const sleeping = sleep.sleep(60_000)
  sleep.interrupt()
  await sleeping
  sleep.interrupt()
  let awake = false
  const next = sleep.sleep(60_000).then(() => (awake = true))
  await Promise.resolve()
  expect(awake).toBe(false)
  sleep.wake()
  await next
})
