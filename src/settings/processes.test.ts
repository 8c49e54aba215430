import { expect, test } from 'vitest'
import { explainRefusal, type GatewayProcess } from './processes.ts'

const RELAY = 'smtp@relay:587'
const worker: GatewayProcess = {
  processId: '019a0000-0000-7000-8000-000000000000',
  host: 'gw1',
  pid: 17,
  role: 'worker',
  version: '1',
  providers: ['smtp'],
  settings: { SMTP_URL: 'smtp://relay' },
}
const WHAT_TO_DO =
  'stop the processes that differ, and start this one again. One that was killed counts for 15 seconds.'

test('capture on a database whose mail is for a real provider names the setting and the step that allows it', () => {
  expect(explainRefusal(['capture'], ['ses@us-east-1', 'resend'], [], false)).toMatch(
    /^EMAIL_PROVIDER is capture here .* for ses,resend: .*EMAIL_PROVIDER=ses,resend.*--allow-capture/,
  )
})

test('capture that was allowed is refused while processes run that really send', () => {
  expect(explainRefusal(['capture'], [RELAY], [worker], true)).toBe(
    `EMAIL_PROVIDER is capture here and smtp at worker gw1:17: ${WHAT_TO_DO}`,
  )
})

test('another provider: every process that differs is named, and none that does not', () => {
  const both = { ...worker, host: 'gw2', role: 'api' as const, providers: ['smtp', 'ses'] }
  const same = { ...worker, host: 'gw3', providers: ['ses'], settings: { AWS_REGION: 'us-east-1' } }
  expect(explainRefusal(['ses@us-east-1'], [RELAY], [worker, both, same], false)).toBe(
    `EMAIL_PROVIDER is ses here and smtp at worker gw1:17, smtp,ses at api gw2:17: ${WHAT_TO_DO}`,
  )
})

test('the same provider with another destination: the setting and both destinations are named', () => {
  expect(explainRefusal(['smtp@test:25'], [RELAY], [worker], false)).toBe(
    `SMTP_URL leads to smtp@test:25 here and to smtp@relay:587 at worker gw1:17: ${WHAT_TO_DO}`,
  )
})

test('a process whose row is gone and whose time is not over is named by what the database recorded', () => {
  expect(explainRefusal(['ses@us-east-1'], [RELAY], [], false)).toBe(
    `EMAIL_PROVIDER is ses here and smtp at a process that ended a moment ago without signing off: ${WHAT_TO_DO}`,
  )
})
