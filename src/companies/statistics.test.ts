import { describe, expect, test } from 'vitest'
import { kpisOf } from './statistics.ts'

const NONE = { accepted: 0, delivered: 0, failed: 0, recovered: 0, notRecovered: 0, deliverySeconds: 0 }

describe('the KPIs of a range', () => {
  test('are rates of what has ended, with their targets', () => {
    const kpis = kpisOf({
      accepted: 1200,
      delivered: 990,
      failed: 10,
      recovered: 19,
      notRecovered: 1,
      deliverySeconds: 9900,
    })
    expect(kpis).toEqual({
      finalDeliveryRate: { value: 0.99, target: '> 98 %', met: true },
      meanSecondsToDelivery: { value: 10, target: '< 5 min', met: true },
      recoveryRate: { value: 0.95, target: '> 90 %', met: true },
      finalFailureRate: { value: 0.01, target: '< 2 %', met: true },
    })
  })

  test('are not met at the bound itself', () => {
    const kpis = kpisOf({ ...NONE, delivered: 98, failed: 2, recovered: 9, notRecovered: 1, deliverySeconds: 98 * 300 })
    expect(Object.values(kpis).map(kpi => kpi.met)).toEqual([false, false, false, false])
  })

  test('have no value while there is nothing to measure', () => {
    expect(Object.values(kpisOf({ ...NONE, accepted: 5 })).map(({ value, met }) => [value, met])).toEqual(
      Array(4).fill([null, null]),
    )
  })
})
