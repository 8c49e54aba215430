import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bestMs } from '../../../test/support/growth.ts'
import { createUuidv7, isUuid, uuidv7, uuidv7Floor, uuidv7Time } from './uuid.ts'

const V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const instants = fc.integer({ min: 0, max: 2 ** 48 - 2 })

function expectIncreasing(ids: string[]): void {
  for (let index = 1; index < ids.length; index++) {
    if (ids[index]! <= ids[index - 1]!) throw new Error(`${ids[index]} does not follow ${ids[index - 1]}`)
  }
}

describe('uuidv7', () => {
  test('has the version and the variant of RFC 9562', () => {
    for (let index = 0; index < 2000; index++) expect(uuidv7()).toMatch(V7)
  })

  test('carries the current time', () => {
    const before = Date.now()
    const time = uuidv7Time(createUuidv7()()).getTime()
    expect(time).toBeGreaterThanOrEqual(before)
    expect(time).toBeLessThanOrEqual(Date.now())
  })

  test('increases within one millisecond, even past the counter', () => {
    const next = createUuidv7()
    const ids = Array.from({ length: 20_000 }, () => next(1_700_000_000_000))
    expectIncreasing(ids)
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('goes on increasing while the clock steps back', () => {
    const next = createUuidv7()
    expectIncreasing([1000, 999, 1, 1000, 1001, 500, 1002].map(ms => next(1_700_000_000_000 + ms)))
  })

  test('goes on increasing whatever the clock does', () => {
    fc.assert(
      fc.property(fc.array(instants, { maxLength: 200 }), times => {
        const next = createUuidv7()
        expectIncreasing(times.map(time => next(time)))
      }),
    )
  })

  test('two generators that share a millisecond do not share ids', () => {
    const [one, other] = [createUuidv7(), createUuidv7()]
    const ids = new Set(Array.from({ length: 5000 }, () => [one(1e12), other(1e12)]).flat())
    expect(ids.size).toBe(10_000)
  })

  test('reads a fraction of a millisecond as the millisecond it is in', () => {
    expect(uuidv7Time(createUuidv7()(1_700_000_000_000.9)).getTime()).toBe(1_700_000_000_000)
  })

  test('takes less than 2 µs', () => {
    const count = 20_000
    const milliseconds = bestMs(() => {
      for (let index = 0; index < count; index++) uuidv7()
    }, 10)
    // Measured 0.15 µs; the limit leaves room for a slow machine.
    expect((milliseconds * 1000) / count).toBeLessThan(2)
  }, 30_000)
})

test('the time of an id is the time it was made at', () => {
  fc.assert(fc.property(instants, ms => uuidv7Time(createUuidv7()(ms)).getTime() === ms))
})

test('the floor of a millisecond lies below its ids and above those of the one before', () => {
  fc.assert(
    fc.property(
      instants.filter(ms => ms > 0),
      ms => {
        const floor = uuidv7Floor(new Date(ms))
        expect(floor).toMatch(V7)
        expect(uuidv7Time(floor).getTime()).toBe(ms)
        expect(floor <= createUuidv7()(ms)).toBe(true)
        expect(createUuidv7()(ms - 1) < floor).toBe(true)
      },
    ),
  )
})

test('isUuid accepts the canonical form of any version', () => {
  for (const id of [uuidv7(), uuidv7().toUpperCase(), '123e4567-e89b-12d3-a456-426614174000']) {
    expect(isUuid(id)).toBe(true)
  }
})

test.each([
  '',
  'out_01HQABC123',
  '123e4567e89b12d3a456426614174000',
  '{123e4567-e89b-12d3-a456-426614174000}',
  ` ${uuidv7()}`,
  `${uuidv7()}\n`,
  '123e4567-e89b-12d3-a456-42661417400g',
])('isUuid refuses %j', text => {
  expect(isUuid(text)).toBe(false)
})
