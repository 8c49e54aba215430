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

test('for machines it is one JSON value a line', () => {
  const { destination, text } = collected()
  makeLog({ level: 'info', pretty: false, destination }).info({ status: 404 }, 'Request')
  expect(JSON.parse(text())).toMatchObject({ level: 'info', message: 'Request', status: 404 })
})
