import { expect, test } from 'vitest'
import type { EmailToSend } from '../../outbox/load.ts'
import { type MailAddress, parseAddress } from '../../platform/text/addresses.ts'
import { withSender } from './content.ts'

const settings = {
  defaultFrom: (parseAddress('Gateway <gateway@sender.test>') as { value: MailAddress }).value,
  captureOnly: false,
}
const email = (change: Partial<EmailToSend>) =>
  ({ from: null, test: false, companySender: null, ...change }) as EmailToSend
const ofCompany = (defaultFrom: string | null, fromDomains: string[]) =>
  withSender(email({ companySender: { defaultFrom, fromDomains } }), settings)

test('an e-mail that names its sender keeps it', () => {
  const named = email({ from: 'a@b.example' })
  expect(withSender(named, settings)).toBe(named)
})

test.each([
  ["the company's default sender", 'Shop <hi@shop.example>', ['shop.example'], 'Shop <hi@shop.example>'],
  ['EMAIL_FROM for a company without a default', null, [], 'Gateway <gateway@sender.test>'],
  ['EMAIL_FROM of a domain of the company', null, ['sender.test'], 'Gateway <gateway@sender.test>'],
  [
    'EMAIL_FROM when the default is no longer allowed',
    'hi@old.example',
    ['sender.test'],
    'Gateway <gateway@sender.test>',
  ],
])('an e-mail that names none gets %s', (_, defaultFrom, domains, from) => {
  expect(ofCompany(defaultFrom, domains)).toMatchObject({ from })
})

test('an e-mail whose company may use neither is refused, and the message says what to do', () => {
  const refused = {
    validation: 'INTEGRITY',
    failure: { code: 'FROM_NOT_ALLOWED', message: expect.stringMatching(/--from/) },
  }
  expect(ofCompany(null, ['shop.example'])).toMatchObject(refused)
  expect(ofCompany('hi@old.example', ['shop.example'])).toMatchObject(refused)
})
