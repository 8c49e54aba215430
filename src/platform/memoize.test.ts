import { expect, test } from 'vitest'
import { memoize } from './cache.ts'

test('an answer is worked out once, and again when so many others were asked for since', () => {
  const asked: string[] = []
  const shout = memoize(2, (text: string) => {
    asked.push(text)
    return text.toUpperCase()
  })
  expect([shout('a'), shout('b'), shout('a')]).toEqual(['A', 'B', 'A'])
  expect(asked).toEqual(['a', 'b'])
  expect([shout('c'), shout('b'), shout('a')]).toEqual(['C', 'B', 'A'])
  expect(asked).toEqual(['a', 'b', 'c', 'a'])
})

test('what throws is asked again', () => {
  let there = false
  const read = memoize(2, (key: string) => {
    if (!there) throw new Error('gone')
    return key
  })
  expect(() => read('a')).toThrow('gone')
  there = true
  expect(read('a')).toBe('a')
})
