import { describe, expect, test } from 'vitest'
import { LoginLimits, networkOf, siteOf } from './authorize.ts'

const MINUTE = 60_000
const fail = (limits: LoginLimits, times: number, name = 'ana', network = '198.51.100.7', nowMs = 0) => {
  for (let n = 0; n < times; n++) limits.failed(name, network, nowMs)
}

describe('failed logins', () => {
  test('cause no wait at first, then twice as long each time, up to a minute', () => {
    const limits = new LoginLimits()
    const waits = Array.from({ length: 14 }, () => {
      limits.failed('ana', '198.51.100.7', 0)
      return limits.waitMs('ana', '198.51.100.7', 0)
    })
    expect(waits).toEqual([0, 0, 0, 0, 0, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000])
    expect(limits.waitMs('ana', '198.51.100.7', 59_000)).toBe(1_000)
    expect(limits.waitMs('ana', '198.51.100.7', MINUTE)).toBe(0)
  })

  test('from one network cause no wait elsewhere', () => {
    const limits = new LoginLimits()
    fail(limits, 100)
    expect(limits.waitMs('ana', '203.0.113.9', 0)).toBe(0)
  })

  test('of one name cause no wait for other names of the network, until the network has many', () => {
    const limits = new LoginLimits()
    fail(limits, 10)
    expect(limits.waitMs('bob', '198.51.100.7', 0)).toBe(0)
    fail(limits, 11)
    expect(limits.waitMs('bob', '198.51.100.7', 0)).toBe(1_000)
  })

  test('with a new name each time are limited by the network', () => {
    const limits = new LoginLimits()
    for (let n = 0; n < 30; n++) limits.failed(`name-${n}`, '198.51.100.7', 0)
    expect(limits.waitMs('another', '198.51.100.7', 0)).toBe(MINUTE)
  })

  test('are reset by a success of the same name there, and after a quarter of an hour', () => {
    const limits = new LoginLimits()
    fail(limits, 5)
    limits.succeeded('ana', '198.51.100.7')
    fail(limits, 1)
    expect(limits.waitMs('ana', '198.51.100.7', 0)).toBe(0)
    fail(limits, 14)
    fail(limits, 1, 'ana', '198.51.100.7', 16 * MINUTE)
    expect(limits.waitMs('ana', '198.51.100.7', 16 * MINUTE)).toBe(0)
  })

  describe('from 300 networks of one IPv6 site', () => {
    const limits = new LoginLimits()
    limits.succeeded('ana', networkOf('2001:db8:1:ffff::1'))
    for (let n = 0; n < 300; n++) limits.failed('ana', networkOf(`2001:db8:1:${n.toString(16)}::1`), 0)

    test('make another network of it wait', () => {
      expect(limits.waitMs('ana', networkOf('2001:db8:1:abcd::1'), 0)).toBe(MINUTE)
    })

    test('cause no wait at another site, nor for a network with a successful login', () => {
      expect(limits.waitMs('ana', networkOf('2001:db8:2::1'), 0)).toBe(0)
      expect(limits.waitMs('ana', networkOf('2001:db8:1:ffff::2'), 0)).toBe(0)
    })
  })

  test('of very many networks are kept in bounded memory, the most recent ones', () => {
    const limits = new LoginLimits()
    fail(limits, 30, 'ana', 'first')
    for (let n = 0; n < 20_000; n++) limits.failed('x'.repeat(700), `network ${n}`, 0)
    fail(limits, 30, 'ana', 'last')
    expect(limits.waitMs('ana', 'first', 0)).toBe(0)
    expect(limits.waitMs('ana', 'last', 0)).toBe(MINUTE)
  })
})

test.each([
  ['198.51.100.7', '198.51.100.7'],
  ['::ffff:198.51.100.7', '198.51.100.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::1', '2001:db8:1:2::/64'],
  ['2001:0DB8:0001:0002::FFFF', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['::', '0:0:0:0::/64'],
  ['1::', '1:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
  ['', ''],
  ['unknown', 'unknown'],
])('the network of %s is %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})

test.each([
  ['2001:db8:1:2::1', '2001:db8:1::/48'],
  ['2001:db8::1', '2001:db8:0::/48'],
  ['::1', '0:0:0::/48'],
  ['198.51.100.7', '198.51.100.7'],
  ['unknown', 'unknown'],
])('the site of %s is %s', (address, site) => {
  expect(siteOf(networkOf(address))).toBe(site)
})
