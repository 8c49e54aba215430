import { expect, test } from 'vitest'
import { hashEmail } from '../platform/text/hashing.ts'
import { recogniseSearch } from './email-search.ts'

const id = '019a8f2e-3c10-7b1e-9a55-5a6c1d7e2f30'
const hash = hashEmail('maria@example.com')

test.each([
  ['an id', ` ${id.toUpperCase()} `, ['id', 'externalId', 'messageId']],
  ['an address', 'Maria@Example.com', ['recipient', 'externalId', 'messageId']],
  ['a hash', hash, ['recipient']],
  ['a hash without its prefix', hash.slice('sha256:'.length), ['recipient']],
  ['the Message-ID of SMTP', `<${id}@example.com>`, ['messageId', 'recipient']],
  ['the message id of SES', '0100018f-aaaa-bbbb-000000', ['externalId', 'messageId']],
  ['an external id with an at sign that is no address', 'order@4711 @', ['externalId', 'messageId']],
])('recognises %s', (_, text, kinds) => {
  expect(recogniseSearch(text).map(one => one.by)).toEqual(kinds)
})

test('an address becomes its hash, however it is written', () => {
  expect(recogniseSearch('  MARIA@example.com ')[0]).toEqual({ by: 'recipient', value: hash })
})
