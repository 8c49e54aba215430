import { expect, test } from 'vitest'
import { rememberPlace, searchOfList } from './list-place.ts'

const at = (pathname: string, search = {}) => ({ pathname, search })

test('a list keeps its search while entries of it are open, and no longer', () => {
  const found = { status: 'DLQ' }
  rememberPlace(at('/emails', found), at('/emails/1'))
  rememberPlace(at('/emails/1'), at('/emails/2'))
  expect(searchOfList('/emails')).toEqual(found)
  rememberPlace(at('/emails/2'), at('/companies'))
  rememberPlace(at('/companies'), at('/emails/2'))
  expect(searchOfList('/emails')).toBeUndefined()
})

test('the overview is no list of everything, and a first visit comes from nowhere', () => {
  rememberPlace(at('/', { range: '7d' }), at('/emails/1'))
  rememberPlace(undefined, at('/emails/1'))
  expect([searchOfList('/'), searchOfList('/emails')]).toEqual([undefined, undefined])
})
