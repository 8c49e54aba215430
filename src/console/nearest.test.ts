import { expect, test } from 'vitest'
import { didYouMean, nearest } from './nearest.ts'

const COMMANDS = ['start', 'migrate', 'company', 'key', 'admin', 'send', 'email', 'dlq', 'suppression', 'doctor', 'db']

test.each([
  ['compnay', 'company'],
  ['emial', 'email'],
  ['dlg', 'dlq'],
  ['supression', 'suppression'],
  ['doc', 'doctor'],
  ['Start', 'start'],
])('%s is near %s', (given, name) => {
  expect(nearest(given, COMMANDS)).toEqual([name])
})

test('a word that is similar to no name suggests nothing', () => {
  expect(nearest('nonsense', COMMANDS)).toEqual([])
  expect(didYouMean('nonsense', COMMANDS)).toBe('')
})

test('several names are returned in the order of their distance', () => {
  expect(nearest('SES_MESAGE_REJECTED', ['SES_MESSAGE_REJECTED', 'SMTP_MESSAGE_REJECTED', 'TIMEOUT'], 2)).toEqual([
    'SES_MESSAGE_REJECTED',
    'SMTP_MESSAGE_REJECTED',
  ])
})
