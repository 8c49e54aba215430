import { expect, test } from 'vitest'
import { differenceOf } from './difference.ts'

test('fields that changed come first, and a side that lacks a field is told from an empty one', () => {
  expect(
    differenceOf(
      { name: 'acme', weight: 1, fromDomains: ['a.com'] },
      { name: 'acme', weight: 2, fromDomains: [], x: '' },
    ),
  ).toEqual([
    { field: 'weight', before: '1', after: '2', changed: true },
    { field: 'fromDomains', before: 'a.com', after: '', changed: true },
    { field: 'x', before: null, after: '', changed: true },
    { field: 'name', before: 'acme', after: 'acme', changed: false },
  ])
})

test('without a side there is only the other one', () => {
  expect(differenceOf(null, { a: { b: null } })).toEqual([
    { field: 'a', before: null, after: '{\n "b": null\n}', changed: true },
  ])
  expect(differenceOf(null, null)).toEqual([])
})
