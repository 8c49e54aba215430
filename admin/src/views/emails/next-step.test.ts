import { expect, test } from 'vitest'
import { nextStepOf, pauseReasonOf } from './next-step.ts'

test.each([
  ['One e-mail tries again at 2026-11-17T10:31:00.000Z.', 'probe'],
  ['It can be sent again (resend) once the address is no longer suppressed.', 'resendUnsuppressed'],
  ['The next free worker sends it.', 'soon'],
  ['Something new.', undefined],
  [null, undefined],
])('what happens next is recognised: %s', (next, step) => expect(nextStepOf(next)).toBe(step))

test('the reason of a pause is taken out of the sentence', () => {
  expect(pauseReasonOf('Held: the company is paused (Rate (bounces) is high). Retry 2 of 5 is due.')).toBe(
    'Rate (bounces) is high',
  )
  expect(pauseReasonOf('Held: the company is paused.')).toBeUndefined()
})
