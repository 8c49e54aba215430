import { expect, test } from 'vitest'
import { keepWordsWhole } from './whole-words.ts'

test('no line of a sentence ends inside of e-mail', () => {
  expect(keepWordsWhole('E-mails of this type use it; an e-mail (e-mail) waits.')).toBe(
    'E\u2011mails of this type use it; an e\u2011mail (e\u2011mail) waits.',
  )
})

test.each([
  'E-mails',
  'Reschedule this e-mail',
  'Lower-case letters, digits, _ and -',
  'The Message-Id and an e-maker of it',
])('a label and other hyphens stay as they are: %s', text => {
  expect(keepWordsWhole(text)).toBe(text)
})
