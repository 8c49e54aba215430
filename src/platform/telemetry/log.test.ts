import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { makeLog } from './log.ts'

function collected() {
  const lines: string[] = []
  const destination = new Writable({ write: (chunk, _encoding, done) => done(void lines.push(String(chunk))) })
  return { destination, text: () => lines.join('') }
}

test('on a terminal a request is one line, with its fields behind its message', () => {
  const { destination, text } = collected()
  const log = makeLog({ level: 'info', pretty: true, destination })
  log.info({ requestId: 'r-1', method: 'GET', status: 404, errorCode: 'NOT_FOUND' }, 'Request')
  expect(text().trimEnd().split('\n')).toHaveLength(1)
  for (const part of ['Request', 'r-1', '404', 'NOT_FOUND']) expect(text()).toContain(part)
})

test('on a terminal control characters are removed from fields, messages and errors', () => {
  const { destination, text } = collected()
  const log = makeLog({ level: 'info', pretty: true, destination })
  const hostile = 'a\u001b[2Jb\u009b31mc\u202ed\u0007e\u007ff\rg C:\\u001b "é"'
  log.info({ subject: hostile, deep: { [hostile]: [hostile] } }, hostile)
  log.error({ err: new Error(hostile) }, 'Failed')
  const withoutColours = text().replace(/\u001b\[[0-9;]*m/g, '')
  expect(withoutColours).not.toMatch(/[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u)
  expect(withoutColours).not.toContain('\\u009b')
  expect(withoutColours).toContain('a[2Jb31mcdefg C:\\u001b "é"')
  expect(withoutColours).toContain('"subject":"a[2Jb31mcdefg C:')
})

test('for machines it is one JSON value a line', () => {
  const { destination, text } = collected()
  makeLog({ level: 'info', pretty: false, destination }).info({ status: 404 }, 'Request')
  expect(JSON.parse(text())).toMatchObject({ level: 'info', message: 'Request', status: 404 })
})

test('a lost connection is logged without a stack, a bug with it', () => {
  const { destination, text } = collected()
  const log = makeLog({ level: 'info', pretty: false, destination })
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  log.warn({ err: new Error('The database is away', { cause: refused }) }, 'Failed')
  expect(text()).toContain('connect ECONNREFUSED')
  expect(text()).not.toContain('    at ')
  log.warn({ err: new TypeError('a bug') }, 'Failed')
  expect(text()).toContain('    at ')
})
