import { expect, test } from 'vitest'
import { changesOf, formOf, settingsOf } from './settings-form.ts'

const company = {
  ...{ companyId: 'c', name: 'acme', weight: 2, ratePerSecond: 5, retryPolicy: null, fromDomains: ['a.example'] },
  ...{ defaultFrom: 'a@a.example', locale: 'en', isDefault: false, createdAt: '' },
  ...{ pausedAt: null, pauseReason: null, pausedBy: null },
}

test('an empty rate is no limit, and an empty sender is the one of the gateway', () => {
  const form = { ...formOf(company), rate: '', defaultFrom: '  ' }
  expect(settingsOf(form)).toMatchObject({ ratePerSecond: null, defaultFrom: null, weight: 2 })
})

test('only what differs is sent', () => {
  expect(changesOf(formOf(company), company)).toEqual({})
  expect(changesOf({ ...formOf(company), weight: 3, fromDomains: ['b.example'] }, company)).toEqual({
    weight: 3,
    fromDomains: ['b.example'],
  })
})
