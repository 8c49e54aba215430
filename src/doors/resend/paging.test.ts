import { expect, test } from 'vitest'
import { pageOf, pageQuery } from './describe.ts'

const items = ['e', 'd', 'c', 'b', 'a'].map(id => ({ id }))
const ids = (query: object) => {
  const { data, has_more } = pageOf(items, pageQuery.parse(query))
  return `${data.map(({ id }) => id).join('')}${has_more ? '…' : ''}`
}

test.each([
  [{}, 'edcba'],
  [{ limit: '2' }, 'ed…'],
  [{ limit: 2, after: 'd' }, 'cb…'],
  [{ limit: 2, after: 'c' }, 'ba'],
  [{ after: 'a' }, ''],
  [{ limit: 2, before: 'b' }, 'dc…'],
  [{ limit: 3, before: 'b' }, 'edc'],
  [{ before: 'e' }, ''],
])('the page %j is %s', (query, expected) => {
  expect(ids(query)).toBe(expected)
})

test('an id that is not on the list is refused, and so are two of them', () => {
  expect(() => ids({ after: 'x' })).toThrow()
  expect(() => ids({ before: 'x' })).toThrow()
  expect(pageQuery.safeParse({ after: 'a', before: 'b' }).success).toBe(false)
  for (const limit of ['0', '101', '1.5', 'x']) expect(pageQuery.safeParse({ limit }).success).toBe(false)
})
