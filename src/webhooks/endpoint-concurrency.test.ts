import { describe, expect, test } from 'vitest'
import type { ClaimedDelivery } from './claim.ts'
import { EndpointConcurrency } from './dispatcher.ts'

let made = 0
const delivery = (companyId: string, failures = 0) =>
  ({ companyId, endpointId: `e${++made}`, deliveryId: `d${made}`, failures }) as ClaimedDelivery

/** Starts as many deliveries as one claim would give this company. */
function fill(concurrency: EndpointConcurrency, companyId: string, failures = 0): ClaimedDelivery[] {
  const kind = failures > 0 ? 'suspect' : 'healthy'
  const { companies, others } = concurrency.companyRoom()[kind]
  const room = companies[companyId] ?? others
  const started = Array.from({ length: room }, () => delivery(companyId, failures))
  for (const one of started) concurrency.start(one)
  return started
}

describe('deliveries in flight', () => {
  test('one company uses at most a quarter of the slots, however often it claims', () => {
    const concurrency = new EndpointConcurrency()
    let held = 0
    for (let claims = 0; claims < 20; claims++) held += fill(concurrency, 'greedy').length
    expect(held).toBe(128)
    expect(concurrency.left().healthy).toBe(512 - 128)
  })

  test('a company that comes late gets slots although twenty others use all they may and hang', () => {
    const concurrency = new EndpointConcurrency()
    const hanging: ClaimedDelivery[] = []
    const greedy = Array.from({ length: 20 }, (_, n) => `greedy-${n}`)
    const take = () => {
      for (const companyId of greedy) hanging.push(...fill(concurrency, companyId))
    }
    take()
    // Each hanging delivery ends by its deadline, and its slot may be taken by any of them.
    for (let n = 0; n < 512; n++) {
      concurrency.end(hanging.shift()!)
      take()
    }
    expect(fill(concurrency, 'late').length).toBeGreaterThan(0)
  })

  test('failing endpoints have their own slots', () => {
    const concurrency = new EndpointConcurrency()
    let held = 0
    for (let claims = 0; claims < 20; claims++) held += fill(concurrency, 'greedy', 3).length
    expect(held).toBe(16)
    expect(fill(concurrency, 'greedy')).toHaveLength(128)
  })

  test('a delivery that has ended frees its slot', () => {
    const concurrency = new EndpointConcurrency()
    const first = delivery('greedy')
    concurrency.start(first)
    while (fill(concurrency, 'greedy').length > 0);
    expect(concurrency.companyRoom().healthy.companies.greedy).toBe(0)
    concurrency.end(first)
    expect(concurrency.companyRoom().healthy.companies.greedy).toBe(1)
  })
})
