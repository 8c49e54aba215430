import type { Logger } from 'pino'
import { expect, test } from 'vitest'
import { DatabaseUnavailable } from '../../platform/postgres/errors.ts'
import { failureLog } from './log.ts'

test('an outage of the database is one line when it begins and one when it ends; other failures are each logged', () => {
  const lines: string[] = []
  const log = {
    warn: (fields: { task: string }, text: string) => void lines.push(`${fields.task}: ${text}`),
    info: (text: string) => void lines.push(text),
  } as unknown as Logger
  const failures = failureLog(log, 'Housekeeping')
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  failures.succeeded()
  failures.failed('a', refused)
  failures.failed('b', new DatabaseUnavailable('gone'))
  failures.failed('c', new Error('a bug'))
  failures.succeeded()
  failures.succeeded()
  expect(lines).toEqual([
    'a: Housekeeping failed: the database is away; trying again',
    'c: Housekeeping failed; trying again',
    'Housekeeping goes on: the database is back',
  ])
})
