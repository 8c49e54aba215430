import { expect, test } from 'vitest'
import { parseReputationReason } from './reputation-reason.ts'

const BOUNCED = '6.8 % bounced for good (10 of 146 recipients in 24 hours, the limit is 5.0 %)'
const COMPLAINED = '0.30 % complained (3 of 1000 recipients in 24 hours, the limit is 0.10 %)'

test("the gateway's own sentences are recognised, one or both of them", () => {
  const bounced = { what: 'bounced', rate: 0.068, events: 10, sent: 146, hours: 24, limit: 0.05 }
  expect(parseReputationReason(BOUNCED)).toEqual([bounced])
  expect(parseReputationReason(`${BOUNCED}; ${COMPLAINED}`)).toEqual([
    bounced,
    { what: 'complained', rate: 0.003, events: 3, sent: 1000, hours: 24, limit: 0.001 },
  ])
})

test.each(['', 'The invoice of October is open', `${BOUNCED}; and more`, `See: ${BOUNCED}`])(
  'what somebody typed stays as it is: "%s"',
  text => expect(parseReputationReason(text)).toBeNull(),
)
