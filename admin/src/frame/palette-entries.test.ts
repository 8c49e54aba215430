import { expect, test } from 'vitest'
import { paletteEntries } from './palette-entries.ts'

const ID = '0199a3f2-3c1e-7000-8000-000000000001'
const COMPANIES = [
  { companyId: ID, name: 'Açaí Norte' },
  { companyId: 'b', name: 'Norte Sul' },
]
const VIEWS = [
  { to: '/', name: 'Visão geral' },
  { to: '/emails', name: 'E-mails' },
]
const found = (text: string) => paletteEntries(text, COMPANIES, VIEWS)

test('without a text the palette offers the views', () => {
  expect(found('  ')).toEqual(VIEWS.map(view => ({ kind: 'view', ...view })))
})

test('an id leads to the e-mail, and to the company if it is one of those', () => {
  expect(found(` ${ID.toUpperCase()} `)).toEqual([
    { kind: 'email', id: ID },
    { kind: 'company', ...COMPANIES[0] },
  ])
})

test('an address leads to its e-mails', () => {
  expect(found('maria@example.com')).toEqual([{ kind: 'address', address: 'maria@example.com' }])
})

test('a part of a name finds companies and views, with or without accents', () => {
  expect(found('acai').map(entry => entry.kind)).toEqual(['company', 'search'])
  expect(found('norte').filter(entry => entry.kind === 'company')).toHaveLength(2)
  expect(found('visao')[0]).toEqual({ kind: 'view', ...VIEWS[0] })
})

test('any other text is looked for among the ids that applications and providers gave', () => {
  expect(found('order-4711')).toEqual([{ kind: 'search', text: 'order-4711' }])
})
