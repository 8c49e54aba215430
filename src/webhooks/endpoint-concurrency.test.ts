import { describe, expect, test } from 'vitest'
import type { ClaimedDelivery } from '../db/webhooks/claim.ts'
import { EndpointConcurrency } from './endpoint-concurrency.ts'

let made = 0
const delivery = (companyId: string, failures = 0) =>
  ({ companyId, endpointId: `e${++made}`, deliveryId: `d${made}`, failures }) as ClaimedDelivery

/** Starts as many as a claim would give this company. */
function fill(pace: EndpointConcurrency, companyId: string, failures = 0): ClaimedDelivery[] {
  const kind = failures > 0 ? 'suspect' : 'healthy'
  const { companies, others } = pace.companyRoom()[kind]
  const room = companies[companyId] ?? others
  const started = Array.from({ length: room }, () => delivery(companyId, failures))
  for (const one of started) pace.start(one)
  return started
}

describe('deliveries in flight', () => {
  test('one company holds a quarter of the slots at most, however often it comes', () => {
    const pace = new EndpointConcurrency()
    let held = 0
    for (let claims = 0; claims < 20; claims++) held += fill(pace, 'greedy').length
    expect(held).toBe(128)
    expect(pace.left().healthy).toBe(512 - 128)
  })

  test('a company that comes late gets slots beside twenty others that take all they may and hang', () => {
    const pace = new EndpointConcurrency()
    const hanging: ClaimedDelivery[] = []
    const greedy = Array.from({ length: 20 }, (_, n) => `greedy-${n}`)
    const take = () => {
      for (const companyId of greedy) hanging.push(...fill(pace, companyId))
    }
    take()
    // Each ends by its deadline at last, and whoever is free to takes its slot.
    for (let n = 0; n < 512; n++) {
      pace.end(hanging.shift()!)
      take()
    }
    expect(fill(pace, 'late').length).toBeGreaterThan(0)
  })

  test('slots of endpoints that fail are shared by themselves', () => {
    const pace = new EndpointConcurrency()
    let held = 0
    for (let claims = 0; claims < 20; claims++) held += fill(pace, 'greedy', 3).length
    expect(held).toBe(16)
    expect(fill(pace, 'greedy')).toHaveLength(128)
  })

  test('what has ended makes room again', () => {
    const pace = new EndpointConcurrency()
    const first = delivery('greedy')
    pace.start(first)
    while (fill(pace, 'greedy').length > 0);
    expect(pace.companyRoom().healthy.companies.greedy).toBe(0)
    pace.end(first)
    expect(pace.companyRoom().healthy.companies.greedy).toBe(1)
  })
})
