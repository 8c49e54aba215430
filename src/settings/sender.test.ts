import { describe, expect, test } from 'vitest'
import { type MailAddress, parseAddress } from '../platform/text/addresses.ts'
import { decideSender, type SenderRules } from './sender.ts'

const address = (text: string): MailAddress => {
  const parsed = parseAddress(text)
  if (!parsed.ok) throw new Error(parsed.problem.message)
  return parsed.value
}

const DEFAULT = address('Gateway <gateway@sender.test>')
const rules = (change: Partial<SenderRules> = {}): SenderRules => ({
  fromDomains: [],
  defaultFrom: DEFAULT,
  nothingLeaves: false,
  ...change,
})
const ACME = rules({ fromDomains: ['acme.example', 'xn--bcher-kva.example'] })

describe('a company with domains', () => {
  test.each(['a@acme.example', 'Shop <shop@ACME.Example>', 'a@bücher.example'])('may send from %s', text => {
    expect(decideSender(address(text), ACME)).toEqual(address(text))
  })

  test.each([
    'a@other.example',
    'a@mail.acme.example',
    'a@notacme.example',
    'a@acme.example.evil.example',
    'acme.example@evil.example',
    '"a@acme.example" <a@evil.example>',
    'gateway@sender.test',
  ])('may not send from %s', text => {
    expect(decideSender(address(text), ACME)).toBeNull()
  })

  test('sends only from its domains, so EMAIL_FROM of another domain does not stand in for a missing from', () => {
    expect(decideSender(undefined, ACME)).toBeNull()
  })

  test('may leave out from when EMAIL_FROM is of its domains', () => {
    expect(decideSender(undefined, rules({ fromDomains: ['sender.test'] }))).toEqual(DEFAULT)
  })
})

describe('a company without domains', () => {
  test('sends from EMAIL_FROM when it names none', () => {
    expect(decideSender(undefined, rules())).toEqual(DEFAULT)
  })

  test('may name EMAIL_FROM itself, in another case and with another name', () => {
    expect(decideSender(address('Shop <GATEWAY@sender.TEST>'), rules())?.displayName).toBe('Shop')
  })

  test.each(['other@sender.test', 'gateway@mail.sender.test', 'a@acme.example'])('may not send from %s', text => {
    expect(decideSender(address(text), rules())).toBeNull()
  })
})

describe('where nothing leaves the gateway', () => {
  test.each(['a@other.example', 'gateway@sender.test'])('%s is allowed to a company without domains only', text => {
    expect(decideSender(address(text), rules({ nothingLeaves: true }))).toEqual(address(text))
    expect(decideSender(address(text), rules({ nothingLeaves: true, fromDomains: ['acme.example'] }))).toBeNull()
  })

  test('EMAIL_FROM stands in for a missing from', () => {
    expect(decideSender(undefined, rules({ nothingLeaves: true, fromDomains: ['acme.example'] }))).toEqual(DEFAULT)
  })
})
