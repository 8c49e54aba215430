import { expect, test } from 'vitest'
import { type ValueWords, valueText } from './value-text.ts'

const WORDS: ValueWords = {
  field: name => ({ code: 'Código do erro', status: 'Situação' })[name] ?? name,
  values: { status: { DLQ: 'Não entregue' }, scopes: { send: 'enviar', read: 'ler' } },
  yes: 'Sim',
  no: 'Não',
  number: value => `#${value}`,
  percent: share => `${share * 100}%`,
  time: at => `at ${at}`,
  day: day => `on ${day}`,
}

test.each([
  ['status', 'DLQ', 'Não entregue'],
  ['status', 'NEW_ONE', 'NEW_ONE'],
  ['scopes', ['send', 'read'], 'enviar, ler'],
  ['enabled', false, 'Não'],
  ['weight', 1200, '#1200'],
  ['bounceRate', 0.05, '5%'],
  ['expiresAt', '2026-11-17T10:31:05.120Z', 'at 2026-11-17T10:31:05.120Z'],
  ['probeAt', '2026-11-17T10:31:05.120123+00:00', 'at 2026-11-17T10:31:05.120123+00:00'],
  ['name', '2026-11-17', '2026-11-17'],
  ['day', '2026-11-17', 'on 2026-11-17'],
  ['defaultFrom', null, '–'],
  ['description', '', '–'],
  ['fromDomains', [], '–'],
  [
    'selection',
    { code: 'SES_THROTTLED', company: null, status: 'DLQ' },
    'Código do erro: SES_THROTTLED\nSituação: Não entregue',
  ],
  [
    'faults',
    [{ code: 'X', status: 'DLQ' }, { code: 'Y' }],
    'Código do erro: X · Situação: Não entregue\nCódigo do erro: Y',
  ],
])('%s: %j is shown as %j', (field, value, text) => {
  expect(valueText(value, field, WORDS)).toBe(text)
})
