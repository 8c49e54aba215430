import { expect, test } from 'vitest'
import {
  type DnsRecord,
  dmarcSuggestion,
  fullName,
  mailFromDomain,
  ownershipRecord,
  sesRecords,
} from '../providers/domains.ts'
import { recordTable, zoneFile } from './command.ts'
import { judgeRecord } from './domains.ts'

const RECORDS = sesRecords({
  domain: 'example.com',
  region: 'eu-west-1',
  dkimTokens: ['abc'],
  signingHostedZone: undefined,
  mailFrom: 'bounce.example.com',
})
const [dkim, mx, spf] = RECORDS as [DnsRecord, DnsRecord, DnsRecord]

test('SES needs its DKIM names, and a MAIL FROM with one MX and SPF', () => {
  expect(RECORDS.map(({ type, name, value, required }) => [type, name, value, required])).toEqual([
    ['CNAME', 'abc._domainkey.example.com', 'abc.dkim.amazonses.com', true],
    ['MX', 'bounce.example.com', 'feedback-smtp.eu-west-1.amazonses.com', false],
    ['TXT', 'bounce.example.com', 'v=spf1 include:amazonses.com ~all', false],
  ])
  expect(mailFromDomain('example.com', 'eu-west-1', 0)).toBe('bounce.example.com')
  expect(mailFromDomain('example.com', 'us-east-1', 1)).toBe('bounce-us-east-1.example.com')
})

test('a zone file has absolute names, quoted texts and marks what is only recommended', () => {
  const long = { ...ownershipRecord('example.com', 'x'.repeat(300)) }
  expect(zoneFile('example.com', [dkim, mx, spf])).toEqual([
    '; example.com: records for Email Gateway',
    'abc._domainkey.example.com. 3600 IN CNAME abc.dkim.amazonses.com.',
    '; recommended',
    'bounce.example.com. 3600 IN MX 10 feedback-smtp.eu-west-1.amazonses.com.',
    '; recommended',
    'bounce.example.com. 3600 IN TXT "v=spf1 include:amazonses.com ~all"',
  ])
  expect(zoneFile('example.com', [long])[1]).toMatch(/IN TXT "[^"]{255}" "[^"]+"$/)
})

test('a table has a line for each record', () => {
  const lines = recordTable([{ ...dkim, state: 'found' }, mx])
  expect(lines[0]).toMatch(/^FOR +TYPE +STATE +NAME +VALUE$/)
  expect(lines[1]).toMatch(/^DKIM +CNAME +found +abc\._domainkey\.example\.com +abc\.dkim\.amazonses\.com$/)
  expect(lines[2]).toMatch(/^MAIL FROM +MX +\(recommended\) .* 10 feedback-smtp/)
})

test.each([
  [dkim, ['ABC.dkim.amazonses.com.'], 'found'],
  [dkim, ['other.example.net'], 'other'],
  [dkim, [], 'missing'],
  [dkim, null, 'unknown'],
  [mx, ['10 feedback-smtp.eu-west-1.amazonses.com'], 'found'],
  [mx, ['10 feedback-smtp.eu-west-1.amazonses.com', '20 mx.example.com'], 'other'],
  [mx, ['20 mx.example.com'], 'other'],
  [spf, ['v=spf1 ip4:192.0.2.1 include:amazonses.com -all'], 'found'],
  [spf, ['v=spf1 -all'], 'other'],
  [spf, ['google-site-verification=x'], 'missing'],
  [dmarcSuggestion('example.com'), ['v=DMARC1; p=reject'], 'found'],
  [dmarcSuggestion('example.com'), ['something else'], 'missing'],
  [ownershipRecord('example.com', 't1'), ['email-gateway-domain=t1'], 'found'],
  [ownershipRecord('example.com', 't1'), ['email-gateway-domain=t2'], 'other'],
  [ownershipRecord('example.com', 't1'), ['v=spf1 -all'], 'missing'],
] as const)('%o with %j in DNS is %s', (record, found, state) => {
  expect(judgeRecord(record, found)).toBe(state)
})

test.each([
  ['send', 'example.com', 'send.example.com'],
  ['send.mail', 'mail.example.com', 'send.mail.example.com'],
  ['resend._domainkey.mail', 'mail.example.com', 'resend._domainkey.mail.example.com'],
  ['send.mail.example.com.', 'mail.example.com', 'send.mail.example.com'],
  ['send', 'mail.example.com', 'send.mail.example.com'],
])('the record %s of %s is %s', (name, domain, full) => {
  expect(fullName(name, domain)).toBe(full)
})
