import { expect, test } from 'vitest'
import { differenceOf } from './difference.ts'

test('fields that changed come first, and a side that lacks a field is told from an empty one', () => {
  expect(
    differenceOf(
      { name: 'acme', weight: 1, fromDomains: ['a.com'] },
      { name: 'acme', weight: 2, fromDomains: [], x: '' },
      String,
    ),
  ).toEqual([
    { field: 'weight', before: '1', after: '2', changed: true },
    { field: 'fromDomains', before: 'a.com', after: '', changed: true },
    { field: 'x', before: null, after: '', changed: true },
    { field: 'name', before: 'acme', after: 'acme', changed: false },
  ])
})

test('values are compared as they are, and shown as they are told', () => {
  expect(differenceOf({ list: ['a'], name: 'a' }, { list: ['b'], name: 'a' }, (_, field) => field)).toEqual([
    { field: 'list', before: 'list', after: 'list', changed: true },
    { field: 'name', before: 'name', after: 'name', changed: false },
  ])
})

test('what only the side before has was not changed', () => {
  expect(differenceOf({ code: 'X', at: 1 }, { at: 2 }, String)).toEqual([
    { field: 'at', before: '1', after: '2', changed: true },
    { field: 'code', before: 'X', after: null, changed: false },
  ])
})

test('without a side there is only the other one', () => {
  expect(differenceOf(null, { a: 1 }, String)).toEqual([{ field: 'a', before: null, after: '1', changed: true }])
  expect(differenceOf(null, null, String)).toEqual([])
})
