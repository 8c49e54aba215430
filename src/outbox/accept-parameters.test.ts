import { describe, expect, test } from 'vitest'
import { draft, recipientRecord, unit } from '../../test/support/outbox.ts'
import { acceptParameters } from './accept.ts'
import { acceptStatement } from './accept-statement.ts'
import type { Draft } from './draft.ts'

/** An e-mail that the plain statement stores. */
const PLAIN = draft('a company')

/** Another value for each field. A field that is added to Draft needs a line here: the compiler and the first test say so. */
const OTHER: { [Field in keyof Draft]: NonNullable<Draft[Field]> } = {
  index: 7,
  outboxId: 'another id',
  eventId: 'another event',
  companyId: 'another company',
  requestId: 'another request',
  externalId: 'BOL-1',
  test: true,
  from: 'another@example.com',
  subject: 'Another subject',
  template: 'welcome',
  templateVersion: 3,
  tags: ['a'],
  priority: 1,
  retryPolicy: 'patient',
  onUnknown: 'hold',
  maxAttempts: 9,
  delayMs: 1,
  scheduledAt: '2030-01-01T00:00:00Z',
  html: '<p>Another text.</p>',
  htmlProof: 'a proof',
  text: 'text',
  replyTo: ['a@example.com'],
  headers: { 'X-A': '1' },
  variables: { a: 1 },
  addresses: [{ kind: 'to', address: 'bob@example.com', name: 'Bob', key: '1', hash: 'a hash' }],
  recipientRecord: recipientRecord('x'),
  attachments: [{ filename: 'a.txt', contentType: 'text/plain', contentId: null, base64: 'aGk=' }],
  resendOf: 'an old id',
  traceparent: `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`,
}

const parametersOf = (change: Partial<Draft>) => acceptParameters([unit({ ...PLAIN, ...change })])

describe('every field of an e-mail', () => {
  const fields = Object.keys(PLAIN) as (keyof Draft)[]

  test.each(fields)('%s reaches the statement', field => {
    expect(OTHER, 'give the new field a value in this test').toHaveProperty(field)
    expect(parametersOf({ [field]: OTHER[field] })).not.toEqual(parametersOf({}))
  })

  test.each(fields.filter(field => PLAIN[field] === null))('%s that is null takes no room in the parameters', field => {
    const given = parametersOf({ [field]: OTHER[field] }).parameters.join('')
    expect(given.length).toBeGreaterThan(parametersOf({}).parameters.join('').length)
  })
})

test('a plain e-mail needs the plain statement; an idempotency key and each rare field need the full one', () => {
  const rare = [
    'template',
    'templateVersion',
    'delayMs',
    'scheduledAt',
    'replyTo',
    'headers',
    'variables',
    'recipientRecord',
    'attachments',
  ] as const
  expect(parametersOf({})).toMatchObject({ full: false, parameters: { length: 2 } })
  expect(acceptParameters([unit(PLAIN, 'a key')])).toMatchObject({ full: true, parameters: { length: 6 } })
  for (const field of rare) expect(parametersOf({ [field]: OTHER[field] }).full, field).toBe(true)
})

test.each([false, true])(
  'the statement (full: %s) reads every key of its rows: Postgres ignores others silently',
  full => {
    const { index: _, ...all } = OTHER
    const { parameters } = full ? acceptParameters([unit({ ...PLAIN, ...all }, 'a key')]) : parametersOf({})
    const statement = acceptStatement(full)
    parameters.forEach((rows, nth) => {
      const [, columns] = new RegExp(`json_to_recordset\\(\\$${nth + 1}::json\\) as \\w\\(([^)]+)\\)`).exec(statement)!
      const names = columns!.split(',').map(column => column.trim().split(' ')[0])
      for (const row of JSON.parse(rows)) expect(names, `$${nth + 1}`).toEqual(expect.arrayContaining(Object.keys(row)))
    })
  },
)
