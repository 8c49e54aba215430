import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import type { AcceptResult } from '../../pipeline/accept/accept.ts'
import { DatabaseUnavailable } from '../../platform/postgres/errors.ts'
import { makeLog } from '../../platform/telemetry/log.ts'
import { Refused, resultOf, toRefused } from './replies.ts'
import { isLoopback } from './server.ts'

function replyTo(action: () => unknown): string {
  try {
    action()
    return 'not refused'
  } catch (error) {
    const { responseCode, message } = error as Refused
    return `${responseCode} ${message}`
  }
}

test.each<[string, AcceptResult, string]>([
  ['a busy gateway', { kind: 'busy' }, '451 4.3.2 '],
  ['a key that is still running', { kind: 'key-still-running' }, '451 4.3.0 A message with this Idempotency-Key'],
  ['a key of another message', { kind: 'key-used-for-another-body' }, '550 5.6.0 This Idempotency-Key was used'],
])('%s is refused with the code that fits', (_name, outcome, reply) => {
  expect(replyTo(() => resultOf(outcome))).toContain(reply)
})

test.each<[string, Error, string, boolean]>([
  ['a lost database', new DatabaseUnavailable('away'), '451 4.3.0 The database does not answer', false],
  [
    'a full disk',
    new DatabaseUnavailable('full', { cause: { code: '53100' } }),
    '452 4.3.1 The disk of the database',
    false,
  ],
  ['a client that left', Object.assign(new Error('closed'), { code: 'ECONNECTION' }), '451 4.4.2 ', false],
  ['a bug', new TypeError('x of undefined'), '451 4.3.0 Internal error; try again', true],
])('%s is a temporary failure, and only a bug is logged as one', (_name, error, reply, isLogged) => {
  let logged = ''
  const destination = new Writable({
    write(chunk, _encoding, done) {
      logged += chunk
      done()
    },
  })
  const { responseCode, message } = toRefused(error, makeLog({ level: 'error', pretty: false, destination }))
  expect(`${responseCode} ${message}`).toContain(reply)
  expect(logged !== '').toBe(isLogged)
})

test('a reply is one short line of ASCII, whatever it is about', () => {
  const { message } = new Refused(550, '5.6.0', `a\r\n250 ok … ${'ã'.repeat(1_000)}`)
  expect(message).toMatch(/^5\.6\.0 a\?\?250 ok \.\.\. \?{100,}\.\.\.$/)
  expect(message.length).toBeLessThan(500)
})

test.each([
  ['127.0.0.1', true],
  ['127.8.9.10', true],
  ['::ffff:127.0.0.1', true],
  ['::1', true],
  ['10.0.0.1', false],
  ['::ffff:10.0.0.1', false],
  ['127.0.0.1.evil.test', false],
  ['2001:db8::1', false],
])('%s is an address of this machine: %s', (address, expected) => {
  expect(isLoopback(address)).toBe(expected)
})
