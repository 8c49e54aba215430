import { expect, test } from 'vitest'
import { explainDenial } from './admission.ts'

const DIFFERING = [{ process: 'worker gw1:17', destinations: ['smtp@relay:587'] }]

test('capture on a database whose mail is for a real provider is refused, with the setting and the step that allows it', () => {
  const denial = explainDenial(['capture'], { recorded: ['ses@us-east-1', 'resend'], differing: [] }, false)
  expect(denial.kind).toBe('refused')
  expect(denial.reason).toMatch(
    /^EMAIL_PROVIDER is capture here .* for ses,resend: .*EMAIL_PROVIDER=ses,resend.*--allow-capture/,
  )
})

test('capture that was allowed waits for the processes that really send', () => {
  const denial = explainDenial(['capture'], { recorded: ['smtp@relay:587'], differing: DIFFERING }, true)
  expect(denial).toEqual({
    kind: 'wait',
    reason:
      'EMAIL_PROVIDER is capture here and smtp at worker gw1:17: this process takes no mail until those that differ are stopped.',
  })
})

test('another provider waits, and names every process that differs', () => {
  const differing = [...DIFFERING, { process: 'api gw2:18', destinations: ['smtp@relay:587', 'ses@us-east-1'] }]
  expect(explainDenial(['ses@us-east-1'], { recorded: ['smtp@relay:587'], differing }, false)).toMatchObject({
    kind: 'wait',
    reason: expect.stringContaining('smtp at worker gw1:17, smtp,ses at api gw2:18'),
  })
})

test('the same provider with another destination waits, and names the setting and both destinations', () => {
  expect(explainDenial(['smtp@test:25'], { recorded: ['smtp@relay:587'], differing: DIFFERING }, false)).toEqual({
    kind: 'wait',
    reason:
      'SMTP_URL leads to smtp@test:25 here and to smtp@relay:587 at worker gw1:17: this process takes no mail until those that differ are stopped.',
  })
})

test('a process that was killed is waited for although its name is not known', () => {
  const denial = explainDenial(['ses@us-east-1'], { recorded: ['smtp@relay:587'], differing: [] }, false)
  expect(denial).toMatchObject({ kind: 'wait', reason: expect.stringContaining('smtp at a process that ended') })
})
