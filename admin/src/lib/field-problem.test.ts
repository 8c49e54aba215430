import { expect, test } from 'vitest'
import { fieldLabel, isHtmlRule, liquidPlace, missingVariable } from './field-problem.ts'

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

test('the place in a sentence of LiquidJS is told apart from its words', () => {
  expect(liquidPlace('tag "foo" not found, line:3, col:5')).toEqual({
    words: 'tag "foo" not found',
    line: '3',
    column: '5',
  })
  expect(liquidPlace('must not have more than 500 tags')).toBeNull()
})

test('a broken rule for HTML is recognised by its code, wherever it stands', () => {
  expect(isHtmlRule('HTML_SCRIPT', '<script> is not allowed')).toBe(true)
  expect(isHtmlRule('INVALID_TEMPLATE', '<script> is not allowed (HTML_SCRIPT)')).toBe(true)
  expect(isHtmlRule('INVALID_TEMPLATE', 'must not be empty')).toBe(false)
})

test('a missing variable is named by the gateway', () => {
  expect(missingVariable('user.name is missing: the template uses it and has no default for it')).toBe('user.name')
  expect(missingVariable('is missing')).toBeNull()
})
