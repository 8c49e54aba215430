import { expect, test } from 'vitest'
import { isOlder, sentenceOf } from './redis.ts'

test('versions of Redis are compared by their numbers', () => {
  expect(
    ['5.0.14', '6.0.20', '6.1.9', '6.2.0', '6.2.14', '7.0.15', '10.0.0'].map(one => isOlder(one, '6.2.0')),
  ).toEqual([...[true, true, true], ...[false, false, false, false]])
})

test('a Redis that is too old is named with its version', () => {
  const sentence = sentenceOf({ setting: 'version', wanted: '6.2.0', found: '6.0.20' })
  expect(sentence).toBe('Redis is version 6.0.20, should be 6.2.0 or newer')
})
