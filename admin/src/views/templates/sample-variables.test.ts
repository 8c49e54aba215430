import { expect, test } from 'vitest'
import { parseVariables, sampleVariables } from './sample-variables.ts'

test('each variable gets a sample, in the form that the template reads it', () => {
  expect(sampleVariables(['user.name', 'user.address.city', 'total'])).toEqual({
    user: { name: 'name', address: { city: 'city' } },
    total: 'total',
  })
})

test('what was typed stays, also where the template reads further', () => {
  const typed = { user: { name: 'Maria' }, items: [1] }
  expect(sampleVariables(['user.name', 'user.age', 'items.first'], typed)).toEqual({
    user: { name: 'Maria', age: 'age' },
    items: [1],
  })
})

test('only a JSON object is taken for variables', () => {
  expect(parseVariables('')).toEqual({})
  expect(parseVariables('{"a": 1}')).toEqual({ a: 1 })
  for (const wrong of ['[1]', '1', '{', 'null']) expect(parseVariables(wrong), wrong).toBeNull()
})
