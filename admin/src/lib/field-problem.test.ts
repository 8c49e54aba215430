import { expect, test } from 'vitest'
import { fieldLabel, fieldName, plainWords } from './field-problem.ts'

const LABELS = { subject: 'Assunto', fromDomains: 'Domínios do remetente', variables: 'Variáveis' }

test.each([
  ['subject', 'Assunto'],
  ['fromDomains[1]', 'Domínios do remetente (2)'],
  ['variables.user.name', 'Variáveis (user.name)'],
  ['fromDomains[0].x[2]', 'Domínios do remetente (1 x[2])'],
  ['unknownField[0]', 'unknownField[0]'],
  ['toString', 'toString'],
  ['', ''],
])('%s is shown as %s', (path, text) => {
  expect(fieldLabel(path, LABELS)).toBe(text)
})

test.each([
  ['fromDomains[1]', 'fromDomains'],
  ['variables.user.name', 'variables'],
  ['newerThan', 'cursor'],
  ['', ''],
])('the field of %s is %s', (path, name) => {
  expect(fieldName(path)).toBe(name)
})

test('the words of a refusal are told apart from its place and its code', () => {
  expect(plainWords('tag "foo" not found, line:3, col:5')).toBe('tag "foo" not found')
  expect(plainWords('<script> is not allowed (HTML_SCRIPT)')).toBe('<script> is not allowed')
  expect(plainWords('must not have more than 500 tags')).toBe('must not have more than 500 tags')
})
