import { expect, test } from 'vitest'
import { type DestinationSettings, destinationsOf, differingSetting, providerNames } from './processes.ts'

const SMTP = { EMAIL_PROVIDER: ['smtp'], SMTP_URL: 'smtp://user:word@Relay.example' }
const SES = { EMAIL_PROVIDER: ['ses', 'ses:eu-west-1'], AWS_REGION: 'us-east-1' }
const RESEND = { EMAIL_PROVIDER: ['resend'] }

test.each<[DestinationSettings, string[]]>([
  [{ EMAIL_PROVIDER: ['capture'] }, ['capture']],
  [SMTP, ['smtp@relay.example:587']],
  [{ ...SMTP, SMTP_URL: 'smtps://relay.example?x=1' }, ['smtp@relay.example:465']],
  [SES, ['ses@us-east-1', 'ses:eu-west-1']],
  [
    { ...SES, AWS_ENDPOINT_URL_SESV2: 'http://a:b@127.0.0.1:9' },
    ['ses@us-east-1/127.0.0.1:9', 'ses:eu-west-1@/127.0.0.1:9'],
  ],
  [RESEND, ['resend']],
  [{ ...RESEND, RESEND_BASE_URL: 'http://a:b@127.0.0.1:9/x' }, ['resend@127.0.0.1:9']],
])('%j gives the destinations %j', (settings, destinations) => {
  expect(destinationsOf(settings)).toEqual(destinations)
  expect(providerNames(destinations)).toEqual(settings.EMAIL_PROVIDER)
})

test.each<[string, DestinationSettings, DestinationSettings]>([
  ['EMAIL_PROVIDER', SMTP, RESEND],
  ['EMAIL_PROVIDER', { ...SMTP, EMAIL_PROVIDER: ['smtp', 'resend'] }, SMTP],
  ['SMTP_URL', SMTP, { ...SMTP, SMTP_URL: 'smtp://relay.example:25' }],
  ['RESEND_BASE_URL', RESEND, { ...RESEND, RESEND_BASE_URL: 'http://127.0.0.1:9' }],
  ['AWS_REGION', SES, { ...SES, AWS_REGION: 'sa-east-1' }],
  ['AWS_ENDPOINT_URL_SESV2', SES, { ...SES, AWS_ENDPOINT_URL_SESV2: 'http://127.0.0.1:9' }],
])('%s is the setting that differs', (setting, own, other) => {
  expect(differingSetting(destinationsOf(own), destinationsOf(other))).toBe(setting)
})

test('a provider that nobody knows is a bug, not SES', () => {
  expect(() => destinationsOf({ EMAIL_PROVIDER: ['pigeon'] })).toThrow('pigeon')
})
