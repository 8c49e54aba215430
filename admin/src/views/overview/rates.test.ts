import { expect, test } from 'vitest'
import { type RateName, ratesOf, type Totals } from './rates.ts'

const NONE: Totals = { accepted: 0, delivered: 0, bounced: 0, complained: 0, failed: 0 }
const shares = (totals: Partial<Totals>) =>
  Object.fromEntries(ratesOf({ ...NONE, ...totals }).map(({ name, share }) => [name, share])) as Record<
    RateName,
    number | null
  >

test('four e-mails to two recipients that got them and two that bounced are half delivered and half bounced', () => {
  expect(shares({ accepted: 4, delivered: 8, bounced: 8 })).toMatchObject({ delivered: 0.5, bounced: 0.5, failed: 0 })
})

test('a share is never more than everything: what came before the range is counted and not divided', () => {
  expect(shares({ accepted: 1, delivered: 1, complained: 3, failed: 2 })).toEqual({
    delivered: 1,
    bounced: 0,
    complained: null,
    failed: null,
  })
})

test('where no delivery is reported, bounces are no share of anything', () => {
  expect(shares({ accepted: 1_000, bounced: 3 })).toMatchObject({ delivered: null, bounced: null })
})
