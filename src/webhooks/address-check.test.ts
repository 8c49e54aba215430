import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FORBIDDEN_IPV4, FORBIDDEN_IPV6, PUBLIC_ADDRESSES } from '../../test/support/tricky-targets.ts'
import { ForbiddenAddress, isForbiddenAddress, refuseWebhookUrl, resolveChecked } from './request.ts'

test.each([...FORBIDDEN_IPV4, ...FORBIDDEN_IPV6])('%s is refused', address => {
  expect(isForbiddenAddress(address, false)).toBe(true)
})

test.each(PUBLIC_ADDRESSES)('%s is allowed', address => {
  expect(isForbiddenAddress(address, false)).toBe(false)
})

test('text that is not an address is refused', () => {
  for (const text of ['', 'localhost', '1.2.3', '::g', '127.0.0.1 ', '0x7f.1']) {
    expect(isForbiddenAddress(text, false)).toBe(true)
    expect(isForbiddenAddress(text, true)).toBe(true)
  }
})

test('an IPv4-mapped IPv6 address is treated like its IPv4 address', () => {
  fc.assert(
    fc.property(fc.ipV4(), address => {
      expect(isForbiddenAddress(`::ffff:${address}`, false)).toBe(isForbiddenAddress(address, false))
    }),
  )
})

test.each([
  '169.254.169.254',
  '168.63.129.16',
  '169.254.170.2',
  '100.100.100.200',
  'fd00:ec2::254',
  '::ffff:169.254.169.254',
  '::ffff:a9fe:a9fe',
  '64:ff9b::a9fe:a9fe',
  '64:ff9b:1::a9fe:a9fe',
  '2002:a9fe:a9fe::1',
  '::169.254.169.254',
])('%s is a metadata service and is refused in development, too', address => {
  expect(isForbiddenAddress(address, true)).toBe(true)
})

test.each(['127.0.0.1', '::1', '10.0.0.1', '192.168.1.20', 'fd12::1', '::ffff:127.0.0.1'])(
  '%s is allowed in development',
  address => {
    expect(isForbiddenAddress(address, true)).toBe(false)
  },
)

test.each([
  'https://hooks.example.com/x?y=1',
  'https://hooks.example.com:8443/',
  'https://1.1.1.1/',
  'https://[2606:4700:4700::1111]/',
  'https://xn--bcher-kva.example.com/',
  'https://hooks.example.com./',
])('%s may be registered', url => {
  expect(refuseWebhookUrl(url, false)).toBeNull()
})

test('in development http and private names may be registered, but no credentials in the URL', () => {
  expect(refuseWebhookUrl('http://localhost:8080/hooks', true)).toBeNull()
  expect(refuseWebhookUrl('http://receiver:25/hooks', true)).toBeNull()
  expect(refuseWebhookUrl('http://168.63.129.16/machine', true)).toMatch(/special address/)
  expect(refuseWebhookUrl('http://169.254.169.254/latest', true)).toMatch(/special address/)
  expect(refuseWebhookUrl('http://user:secret@localhost/', true)).toMatch(/user name/)
  expect(refuseWebhookUrl('ftp://localhost/', true)).toMatch(/https/)
})

test('one private address among public ones refuses the name', async () => {
  const answers = [
    { address: '1.1.1.1', family: 4 as const },
    { address: '10.0.0.1', family: 4 as const },
  ]
  await expect(resolveChecked('hooks.example', async () => answers, false)).rejects.toThrow(ForbiddenAddress)
  await expect(resolveChecked('hooks.example', async () => [answers[0]!], false)).resolves.toEqual([answers[0]])
  await expect(resolveChecked('hooks.example', async () => [], false)).rejects.toThrow(/no address/)
})
