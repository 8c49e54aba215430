import { expect, test } from 'vitest'
import { csvProblemOf } from './csv-problem.ts'

test('a column that does not exist is named, with those that do', () => {
  const message = 'its header names a column "mot"ivo"; there are: email, reason'
  expect(csvProblemOf(message)).toEqual({
    kind: 'unknownColumn',
    values: { name: 'mot"ivo', columns: 'email, reason' },
  })
})

test.each([
  ['its header names "email" twice', 'columnTwice'],
  ['its header must name reason, and either email or email_hash', 'columnMissing'],
  ['it has more than 100000 lines; "email-gateway suppression import" takes more', 'tooManyLines'],
  ['has a misplaced quotation mark', 'quote'],
  ['is wrong in a new way', undefined],
])('%s', (message, kind) => expect(csvProblemOf(message)?.kind).toBe(kind))
